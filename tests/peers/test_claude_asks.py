"""The real client asks us about itself: by its own tool use, over MCP, while its traffic passes through the real server."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ramify.demo.upstream import serving
from ramify.demo.wire import text, tool
from tests.cli.test_main import environment
from tests.peers.claude_cli import Script, Story, run_story
from tests.peers.served import serve
from tests.peers.stories import agent, once, said, shell

pytestmark = pytest.mark.peer


def question(name: str, **arguments: Any) -> dict[str, Any]:
    return tool(f"mcp__ramify__{name}", arguments)


STORY = Story(
    "an agent that asks about itself",
    "Ask an agent, then yourself.",
    {
        "Ask an agent, then yourself.": (
            once(text("I ask."), agent("Count the trees, and yourself.")),
            once(question("what_did_my_child_do")),
            once(question("spent_so_far")),
            said("That is that."),
        ),
        "Count the trees, and yourself.": (
            once(shell("echo three")), once(shell("echo three")), once(shell("echo three")),
            once(question("am_i_looping")), said("Three trees, three times."),
        ),
    },
)  # fmt: skip


def answers(lines: tuple[dict[str, Any], ...], tools: dict[str, str]) -> dict[str, Any]:
    """What came back, by the question's name."""
    found = {}
    for line in lines:
        for block in line.get("message", {}).get("content", ()) if line.get("type") in ("user", "assistant") else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                tools[block["id"]] = block["name"].rpartition("__")[2]
            if block.get("type") == "tool_result" and tools.get(block["tool_use_id"]) in ("what_did_my_child_do", "spent_so_far", "am_i_looping"):
                content = block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
                found[tools[block["tool_use_id"]]] = json.loads(content)
    return found


async def test_an_agent_is_told_about_itself_and_its_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Script(STORY)) as upstream, serve(upstream.url, tmp_path) as server:
        command = {"command": sys.executable, "args": ["-m", "ramify", "mcp", "--store", server.store], "env": environment(tmp_path)}
        servers = tmp_path / "servers.json"
        servers.write_text(json.dumps({"mcpServers": {"ramify": command}}))
        more = ["--mcp-config", str(servers), "--permission-mode", "bypassPermissions"]
        run = await run_story(STORY, server.url, tmp_path / "world", more=more)
        assert run.exit == 0, run.errors
        found = answers(run.lines, {})
        (root,) = await server.all("tasks?roots=true")
        (child,) = (await server.ask(f"tasks/{root['id']}/tree"))["children"]
    told = found["what_did_my_child_do"]
    assert told["you"]["task"] == root["id"]
    assert told["you"]["known_by"] == "the tool use that the client names"
    assert [one["id"] for one in told["children"]] == [child["id"]]
    assert told["children"][0]["last_words"] == "Three trees, three times."
    assert told["children"][0]["tools_used"]["Bash"] == 3
    spent = found["spent_so_far"]
    assert spent["you"]["task"] == root["id"]
    assert spent["whole_run"]["calls"] == 8  # five of the child, and three of its own that were answered when it asked
    assert found["am_i_looping"]["you"]["task"] == child["id"]
    assert (found["am_i_looping"]["looping"], found["am_i_looping"]["same_call_in_a_row_now"]) == (True, 3)
