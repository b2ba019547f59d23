"""What the client's hooks tell of a session of which nobody else tells, and what becomes of that when somebody does."""

import json
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Any

from ramify.forgetting import Note, Wish, forget
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation, Record
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite
from tests import story

SESSION = "7c1a2b3c-0000-4000-8000-000000000001"
AT = 1_790_000_000_000_000
RUN = story.CASES / "claude" / "hooks"
Answer = dict[str, Any]


class Heard:
    """Hooks as they come, a second apart."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self._ticks = count(1)

    def hook(self, name: str, turn: str = "p-1", **more: Any) -> None:
        at = AT + next(self._ticks) * 1_000_000
        body = json.dumps({"session_id": SESSION, "hook_event_name": name, **({"prompt_id": turn} if turn else {}), **more}).encode()
        self.seen.append(Record(f"obs_{at}", "default", at, "hook", "claude-hook", f"hook:{len(self.seen)}", body))

    def uses(self, tool: str, name: str, given: Any, back: Any, turn: str = "p-1", **more: Any) -> None:
        about = {"tool_use_id": tool, "tool_name": name, "tool_input": given, **more}
        self.hook("PreToolUse", turn, **about)
        self.hook("PostToolUse", turn, **about, tool_response=back)


def told(seen: Sequence[Observation], size: int = 0) -> Questions:
    return story.told([tuple(seen)], size or 1_000)[1]


def one_run() -> list[Observation]:
    return [one for told in story.reports(RUN, "hooks") for one in told]


def roots(ask: Questions) -> list[Answer]:
    return sorted(ask.tasks(roots=True)["items"], key=lambda task: task["opened"])


def test_a_run_of_which_only_hooks_tell_is_a_tree_with_its_tools_and_words() -> None:
    ask = told(one_run())
    (root,) = roots(ask)
    assert (root["prompt"], root["prompt_author"], root["status"], root["tool_calls"]) == ("Please delegate this", "human", "completed", 1)
    tree = ask.tree(root["id"])
    (child,) = tree["children"]
    (grandchild,) = child["children"]
    assert [(one["title"], one["link"]["rule"], one["link"]["certainty"], one["tool_calls"]) for one in (child, grandchild)] == [
        ("Go", "hook", 1.0, 1), ("Go deeper", "hook", 1.0, 1),
    ]  # fmt: skip
    tools = ask.tools(root["id"], tree=True)["items"]
    assert [(tool["name"], tool["status"], tool["task"]) for tool in tools] == [
        ("Agent", "ok", root["id"]), ("Agent", "ok", child["id"]), ("Bash", "ok", grandchild["id"]),
    ]  # fmt: skip
    assert (tools[2]["args"]["command"], tools[2]["result"]["stdout"]) == ("echo deep", "deep")
    assert tools[0]["spawned"] == [child["id"]]
    said = ask.messages(root["id"], tree=True)["items"]
    assert sorted((one["author"], one["blocks"][0]["text"]) for one in said) == [
        ("agent", "Child report, with a grandchild's help."), ("agent", "Grandchild report."), ("agent", "Main is done."), ("human", "Please delegate this"),
    ]  # fmt: skip
    assert root["tree_usage"]["calls"] == 0  # of answers hooks say nothing


def test_hooks_come_out_the_same_in_any_order() -> None:
    seen = one_run()
    natural = story.rows(story.told([tuple(seen)])[0])
    for seed in range(20):
        chance = Random(seed)
        mixed = seen + chance.sample(seen, 5)
        chance.shuffle(mixed)
        store, _ = story.told([tuple(mixed)], chance.randint(1, 9))
        assert story.row_differences(natural, story.rows(store)) == []


def test_each_prompt_begins_a_turn_but_what_is_said_while_one_runs_joins_it() -> None:
    heard = Heard()
    heard.hook("UserPromptSubmit", prompt="Look.")
    heard.uses("toolu_a", "Bash", {"command": "ls"}, {"stdout": "a"})
    heard.hook("UserPromptSubmit", prompt="And be quick.")
    heard.hook("Stop", last_assistant_message="Seen.")
    heard.hook("UserPromptSubmit", "p-2", prompt="Look again.")
    heard.uses("toolu_b", "Bash", {"command": "ls -l"}, {"stdout": "b"}, "p-2")
    ask = told(heard.seen)
    first, second = roots(ask)
    assert [(task["prompt"], task["tool_calls"], task["status"]) for task in (first, second)] == [("Look.", 1, "completed"), ("Look again.", 1, "submitted")]
    assert [tool["call_id"] for task in (first, second) for tool in ask.tools(task["id"])["items"]] == ["toolu_a", "toolu_b"]
    assert [one["blocks"][0]["text"] for one in ask.messages(first["id"])["items"]] == ["Look.", "And be quick.", "Seen."]


def test_a_tool_that_has_not_come_back_shows_what_it_was_asked() -> None:
    heard = Heard()
    heard.hook("UserPromptSubmit", prompt="Look.")
    heard.hook("PreToolUse", tool_use_id="toolu_a", tool_name="Bash", tool_input={"command": "sleep 9"})
    ask = told(heard.seen)
    (tool,) = ask.tools(roots(ask)[0]["id"])["items"]
    assert (tool["status"], tool["args"], tool["result"]) == ("running", {"command": "sleep 9"}, None)


def test_a_tool_that_failed_says_how() -> None:
    heard = Heard()
    heard.hook("UserPromptSubmit", prompt="Look.")
    heard.hook("PostToolUseFailure", tool_use_id="toolu_a", tool_name="Bash", tool_input={"command": "false"}, error="Exit code 1")
    ask = told(heard.seen)
    (tool,) = ask.tools(roots(ask)[0]["id"])["items"]
    assert (tool["status"], tool["args"], tool["result"]) == ("error", {"command": "false"}, "Exit code 1")


def test_whoever_shows_the_session_itself_knows_better() -> None:
    """With another source beside them, hooks add no task, no message and no tool call, whatever came first."""
    heard = one_run()
    for source in ("transcripts", "stream-json", "exchanges"):
        other = [one for told in story.reports(RUN, source) for one in told]
        for seen in ([*heard, *other], [*other, *heard]):
            ask, alone = told(seen, 3), told(other)
            for name in ("tasks", "calls"):
                assert {row["id"] for row in getattr(ask, name)(limit=0)["items"]} == {row["id"] for row in getattr(alone, name)(limit=0)["items"]}
            for root in roots(alone):
                assert len(ask.messages(root["id"], tree=True)["items"]) == len(alone.messages(root["id"], tree=True)["items"])
                assert [tool["call_id"] for tool in ask.tools(root["id"], tree=True)["items"]] == [tool["call_id"] for tool in alone.tools(root["id"], tree=True)["items"]]
                assert {task["id"]: task["tool_calls"] for task in ask.tasks(limit=0)["items"]} == {task["id"]: task["tool_calls"] for task in alone.tasks(limit=0)["items"]}


def test_what_hooks_told_is_found_and_forgotten() -> None:
    store = open_sqlite("memory:")
    Ingest(store).step(one_run())
    Indexer(store).catch_up()
    ask = Questions(store)
    (root,) = roots(ask)
    assert [hit["task"] for hit in ask.search("delegate this")["items"]] == [root["id"]]
    forget(store, Rules(), Prices(), Wish(frozenset({root["conversation"]})), Note(1, "command"), lambda done, all: None)
    assert (ask.tasks()["items"], ask.search("delegate this")["items"]) == ([], [])
