"""What only some sessions have: notices, interruptions, further attempts, helper calls, a compaction."""

from pathlib import Path

import pytest

from ramify.demo.wire import Reply, tool
from tests.peers import stories
from tests.peers.claude_cli import SESSION, Story
from tests.peers.told import tell

pytestmark = pytest.mark.peer

REFUSED = ((Reply(status=400),),)
CONTEXT = Story("a local command", "/context", {}, resumes=True)
COMPACT = Story("a compaction", "/compact", {}, resumes=True)
GO_ON = Story("one more prompt", "Go on.", {"Go on.": (stories.said("Gladly."),)}, resumes=True)


async def test_a_notification_is_the_clients_and_opens_no_task(tmp_path: Path) -> None:
    told = await tell(stories.BACKGROUND, tmp_path)
    said = told.messages[told.root["id"]]
    (notice,) = (message for message in said if message["author_kind"] == "notification")
    agent = told.agents[0]
    assert notice["author"] == "harness"
    assert agent["agent"] in notice["blocks"][0]["text"]
    assert agent["link"]["via"] in notice["blocks"][0]["text"]
    calls = [call for call in told.calls if call["task"] == told.root["id"]]
    assert [call["stop_reason"] for call in calls] == ["tool_use", "end_turn", "end_turn"]


async def test_an_interrupted_call_is_aborted_and_its_task_canceled(tmp_path: Path) -> None:
    told = await tell(stories.INTERRUPTED, tmp_path)
    (call,) = told.calls
    assert (call["status"], call["stop_reason"], call["error"]) == ("aborted", None, "the client left")
    assert call["first_token_ms"] > 0
    answer = told.messages[told.root["id"]][-1]
    assert answer["author"] == "agent"
    assert stories.HELD[stories.ENDLESS][0][0].content[0]["text"].startswith(answer["blocks"][0]["text"])
    assert told.root["status"] == "canceled"


async def test_a_retry_is_a_further_attempt_of_the_call_that_failed(tmp_path: Path) -> None:
    told = await tell(stories.RETRIED, tmp_path)
    failed, again = told.calls
    assert (failed["status"], failed["http_status"], failed["attempt"]) == ("error", 529, 1)
    assert (again["status"], again["attempt_of"], again["attempt"]) == ("ok", failed["id"], 2)
    assert told.root["usage"]["calls"] == 1
    assert [message["author"] for message in told.messages[told.root["id"]] if not message["author_kind"]] == [
        "human",
        "agent",
    ]


async def test_a_refused_agent_has_failed_and_all_its_attempts_are_one_call(tmp_path: Path) -> None:
    """Its result names no agent, so the words of the call are all the evidence there is."""
    words = {"Ask somebody.": (stories.once(stories.agent("Fail.")), stories.said("It failed.")), "Fail.": REFUSED}
    told = await tell(Story("refused", "Ask somebody.", words), tmp_path)
    (agent,) = told.agents
    assert (agent["status"], agent["link"]["rule"], agent["link"]["certainty"]) == ("failed", "prompt-match", 0.95)
    calls = [call for call in told.calls if call["task"] == agent["id"]]
    assert [call["attempt"] for call in calls] == list(range(1, len(calls) + 1))
    assert {call["attempt_of"] for call in calls[1:]} == {calls[0]["id"]}
    assert told.root["status"] == "completed"


async def test_a_call_for_an_agent_that_does_not_exist_starts_no_task(tmp_path: Path) -> None:
    nobody = tool("Agent", {"description": "Work", "prompt": "Do it.", "subagent_type": "nobody"})
    told = await tell(Story("nobody", "Ask.", {"Ask.": (stories.once(nobody), stories.said("Nobody."))}), tmp_path)
    assert len(told.tasks) == 1
    (call,) = told.tools[told.root["id"]]
    assert (call["status"], call["spawned"]) == ("error", [])


async def test_a_session_goes_on_after_helper_calls_and_a_compaction(tmp_path: Path) -> None:
    told = await tell(stories.ONE, tmp_path, CONTEXT, COMPACT, GO_ON)
    assert [one["session"] for one in told.conversations] == [str(SESSION)]
    counting = [call for call in told.calls if call["utility"] == "count_tokens"]
    assert len(counting) == sum("count_tokens" in received.path for received in told.requests) > 0
    assert {(call["kind"], call["task"], call["usage"]["input"]) for call in counting} == {("utility", None, 0)}
    first, second = told.trees[0]["roots"]
    assert [root["prompt"] for root in (first, second)] == [stories.ONE.prompt, GO_ON.prompt]
    assert [root["branch"] for root in (first, second)] == ["main", "compact_1"]
    assert {root["prompt_author"] for root in (first, second)} == {"human"}
    summing_up = [call for call in told.calls if call["utility"] == "compaction"]
    assert {call["task"] for call in summing_up} == {first["id"]}
    last = told.calls[-1]
    assert (last["link"]["kind"], last["link"]["rule"]) == ("compacted", "compact-summary")
    assert last["parent"] in {call["id"] for call in summing_up}
