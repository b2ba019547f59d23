"""Tools that run at the model's side: what came back stands in an answer, and no request follows."""

from typing import Any

from tests.linking.world_builder import Block, Story, text


def search(id: str, **given: Any) -> Block:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": given}


def found(id: str, content: Any, kind: str = "web_search_tool_result") -> Block:
    return {"type": kind, "tool_use_id": id, "content": content}


REFUSED = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
PAGE = [{"type": "web_search_result", "url": "https://example.org", "title": "A page", "encrypted_content": "x"}]


def test_its_result_says_how_it_went() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "find it", [search("srvtoolu_1", query="it"), found("srvtoolu_1", PAGE), text("There.")])
    line.ask("b", "once more", [search("srvtoolu_2", query="it"), found("srvtoolu_2", REFUSED), text("No.")], parent="a")
    echo = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "far", "input": {}}
    failed = {**found("mcptoolu_1", [text("it broke")], "mcp_tool_result"), "is_error": True}
    line.ask("c", "ask the other", [echo, failed, text("It broke.")], parent="b")
    questions = story.check()
    tools = {native: questions.tool(native) for native in ("srvtoolu_1", "srvtoolu_2", "mcptoolu_1")}
    assert {native: tool["status"] for native, tool in tools.items()} == {"srvtoolu_1": "ok", "srvtoolu_2": "error", "mcptoolu_1": "error"}
    assert tools["srvtoolu_1"]["result"] == PAGE
    assert tools["mcptoolu_1"]["result"] == "it broke"
    assert {tool["result_source"] for tool in tools.values()} == {"wire"}


def test_a_paused_turn_has_its_result_in_the_next_answer() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "find it", [text("I look."), search("srvtoolu_1", query="it")], stop="pause_turn", task="1")
    line.call("b", [found("srvtoolu_1", PAGE), text("There.")], parent="a", task="1", branch="main")
    line.ask("c", "thanks", parent="b", task="2", branch="main")
    questions = story.check()
    tool = questions.tool("srvtoolu_1")
    assert (tool["status"], tool["result"], tool["phases"]) == ("ok", PAGE, ["llm_response", "tool_result"])
    assert questions.stats()["tool_calls"] == 1


def test_a_stream_that_was_cut_before_the_result_brings_none() -> None:
    story = Story()
    said = [search("srvtoolu_1", query="it"), found("srvtoolu_1", PAGE)]
    story.line(session="s").ask("a", "find it", said, cut='event: content_block_start\ndata: {"type": "content_block_start", "index": 1', outcome="aborted", status="aborted")
    tool = story.check().tool("srvtoolu_1")
    assert (tool["status"], tool["result"], tool["closed"]) == ("running", None, None)
