"""Whose a call is, which task it belongs to, and what is counted."""

import json
from typing import Any

import pytest

from tests.linking.world_builder import Line, Story, agent, notification, reminder, report, result, text, use

TITLE = "You are naming a coding session. Answer with a title."


def turn(line: Line, first: str, second: str, conversation: str, **more: object) -> None:
    line.ask(first, "hello", "hi", conversation=conversation, branch="main", overlap=True, **more)
    line.ask(second, "go on", "well", conversation=conversation, parent=first, branch="main", overlap=True)


def test_projects_users_and_sessions_share_nothing() -> None:
    story = Story()
    turn(story.line(project="one"), "a1", "a2", "a")
    turn(story.line(project="two"), "b1", "b2", "b")
    turn(story.line(user="ann"), "c1", "c2", "c")
    turn(story.line(user="bob"), "d1", "d2", "d")
    turn(story.line(session="s"), "e1", "e2", "e")
    turn(story.line(session="t"), "f1", "f2", "f")
    story.check()


def test_two_users_share_no_offer() -> None:
    story = Story()
    story.line(user="ann").ask("a", "go", agent("toolu_1", "look"), conversation="x")
    story.line(user="bob").ask("b", "look", conversation="y", branch="main")
    story.line(project="other").ask("c", "look", conversation="z", branch="main")
    story.line(session="s").ask("d", "look", conversation="w", branch="main")
    story.line(user="ann").ask("e", "look", conversation="x", branch="subtask_1")
    story.subtask("e", by="a", via="toolu_1")
    story.check()


def test_a_session_goes_on_under_another_account() -> None:
    def packed(account: str) -> str:
        return json.dumps({"device_id": "d", "account_uuid": account, "session_id": "s1"})

    story = Story()
    line = story.line(user=packed("one"))
    line.ask("a", "hello", "hi", conversation="x", branch="main")
    line.user = packed("two")
    line.ask("b", "go on", parent="a", conversation="x", branch="main")
    story.check()


def test_the_old_way_to_name_a_session() -> None:
    story = Story()
    session = "11111111-2222-3333-4444-555555555555"
    line = story.line(user=f"user_abc_account__session_{session}")
    line.ask("a", "hello", "hi", conversation="x", branch="main")
    story.line(session=session).ask("b", "hello again", conversation="x", branch="branch_1")
    story.check()


def test_a_call_without_a_session_goes_on_from_one_with() -> None:
    story = Story()
    line = story.line(session="s").ask("a", "hello", "hi", conversation="x", branch="main")
    line.headers = {}
    line.ask("b", "go on", "well", parent="a", conversation="x", branch="main")
    story.check()


def test_a_forked_session_is_a_conversation_of_its_own() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "hello", use("toolu_1", command="ls"), conversation="x", branch="main", task="1")
    line.ask("b", result("toolu_1", "files"), "two files", parent="a", conversation="x", branch="main", task="1")
    fork = line.copy(headers={"X-Claude-Code-Session-Id": "t"})
    fork.ask("c", "delete them", "done", parent=None, conversation="y", branch="main", task="2")
    fork.ask("d", "sure?", parent="c", conversation="y", branch="main", task="3")
    line.ask("e", "thanks", parent="b", conversation="x", branch="main", task="4")
    questions = story.check(orders=20)
    calls = {call["refs"][0]["value"]: call for call in questions.calls()["items"]}
    assert calls["c"]["link"]["kind"] == "forked"
    assert calls["c"]["link"]["parent"] == calls["b"]["id"]
    assert calls["c"]["new_messages"] == 2  # the answer it goes on from, and its own words
    said = questions.messages(calls["c"]["task"])["items"]
    assert [block["text"] for message in said for block in message["blocks"]] == ["delete them", "done"]
    assert questions.stats()["tool_calls"] == 1


def test_helpers_belong_to_their_session_and_to_no_line() -> None:
    story = Story()
    line = story.line(session="s").ask("a", "hello", "hi", conversation="x", usage={"input_tokens": 100})
    helper = story.line(session="s", tools=None, system=TITLE)
    helper.ask("t", "<session>hello</session>", "A greeting", utility="title", kind="utility", parent=None, conversation="x", usage={"input_tokens": 7})
    count = line.copy().say("go on")
    count.call("n", "", path="/v1/messages/count_tokens?beta=true", utility="count_tokens", conversation="x", keep=False)
    line.ask("b", "go on", "well", parent="a", branch="main", conversation="x", usage={"input_tokens": 100})
    helper.ask("t2", "again", utility="title", parent=None, conversation="x", usage={"input_tokens": 7})
    alone = story.line(tools=None, system=TITLE)
    alone.ask("u", "<session>x</session>", "Title", utility="title")
    questions = story.check()
    calls = {call["refs"][0]["value"]: call for call in questions.calls()["items"]}
    assert calls["u"]["conversation"] is None
    assert calls["t"]["task"] is None
    assert questions.conversations()["items"][0]["usage"]["input"] == 214


def test_a_helper_makes_no_offer_and_no_claim() -> None:
    story = Story()
    story.line(session="s", tools=None, system=TITLE).ask("t", "name it", agent("toolu_0", "look"), utility="title")
    story.line(session="s").ask("a", "go", agent("toolu_1", "name it"), branch="main")
    story.line(session="s").ask("b", "look", branch="branch_1", kind="main")
    story.line(session="s", tools=None, system=TITLE).ask("u", "name it", utility="title")
    story.check()


def test_batches_are_observed_and_are_no_calls() -> None:
    story = Story()
    story.line(session="s").ask("a", "hello", "hi")
    other = story.line(session="s")
    other.ask("m", "hello", "hi", path="/v1/messages/batches")
    other.call("n", "x", path="/v1/messages/batches/b1/results")
    del story.truth["m"], story.truth["n"]
    questions = story.check()
    assert questions.stats()["calls"] == 1
    assert questions.seq() >= 6


# -- tasks -------------------------------------------------------------------------------------------------------------

OPENS_NOTHING = {
    "notification": notification("a1", "toolu_9"),
    "hook": "Stop hook feedback:\n- tests are red",
    "interruption": "[Request interrupted by user]",
    "reminder": reminder(),
    "local": ["<local-command-caveat>x</local-command-caveat>", "<command-name>/cost</command-name>", "<local-command-stdout>1$</local-command-stdout>"],
}


@pytest.mark.parametrize("name", OPENS_NOTHING)
def test_what_the_harness_says_opens_no_task(name: str) -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "go", "gone", task="1", branch="main")
    line.ask("b", OPENS_NOTHING[name], "noted", parent="a", task="1", branch="main")
    line.ask("c", "next", parent="b", task="2", branch="main")
    story.check()


OPENS = {
    "prompt": "do that",
    "behind a mark": ["[Request interrupted by user for tool use]", "do that"],
    "behind a reminder": [reminder(), "do that"],
    "command": ["<command-message>review</command-message>\n<command-name>/review</command-name>", "Review the code"],
    "picture": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}, text("what is it?")],
    "behind a local command": [*OPENS_NOTHING["local"], "do that"],
}


@pytest.mark.parametrize("name", OPENS)
def test_what_a_person_says_opens_a_task(name: str) -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "go", "gone", task="1", branch="main")
    line.ask("b", OPENS[name], "done", parent="a", task="2", branch="main")
    story.check()


def test_a_message_during_the_turn_joins_the_running_task() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "go", use("toolu_1", command="ls"), task="1", branch="main")
    line.say(result("toolu_1", "files"))
    line.say("The user sent a new message while you were working:\nonly python", role="system")
    line.call("b", "done", parent="a", task="1", branch="main")
    line.ask("c", "next", parent="b", task="2", branch="main")
    questions = story.check()
    said = [message for task in questions.tasks()["items"] for message in questions.messages(task["id"])["items"]]
    joined = [message for message in said if "only python" in str(message["blocks"])]
    assert [(message["author"], message["role"]) for message in joined] == [("human", "system")]


AUTHORS = [
    ("do it", "user", "human", None),
    ("<system-reminder>\nx\n</system-reminder>", "user", "harness", "reminder"),
    (notification("a1", "toolu_9"), "user", "harness", "notification"),
    (notification("a1", "toolu_9"), "system", "harness", "notification"),
    ("The coordinator sent a message while you were working:\nhurry", "user", "agent", None),
    ('<agent-message from="bob">hi</agent-message>', "system", "agent", None),
    ("The user sent a new message while you were working:\nhurry", "system", "human", None),
    ("[Workflow harness] step", "user", ("agent", "harness"), None),
    ("<fork-boilerplate>x</fork-boilerplate>", "user", ("agent", "harness"), None),
    ("Stop hook feedback:\nred", "user", "harness", "hook"),
    ("PostToolUse:Bash hook additional context: x", "system", "harness", "hook"),
    ("<local-command-caveat>x</local-command-caveat>", "user", "harness", "caveat"),
    ("Caveat: The messages below were generated by the user while running local commands.", "user", "harness", "caveat"),
    ("<local-command-stdout>x</local-command-stdout>", "user", "harness", "command-output"),
    ("<command-name>/x</command-name>", "user", ("human", "harness"), "command"),
    ("<command-message>x</command-message>", "user", ("human", "harness"), "command"),
    ("[Request interrupted by user]", "user", "harness", "interruption"),
    ("some other note of the client", "system", "harness", "reminder"),
    ("This session is being continued from a previous conversation that ran out of context. x", "user", "harness", "compact-summary"),
]


@pytest.mark.parametrize(("words", "role", "author", "kind"), AUTHORS)
def test_who_is_speaking(words: str, role: str, author: str | tuple[str, ...], kind: str | None) -> None:
    story = Story()
    line = story.line(session="s").ask("a", "go", "gone")
    line.say(words, role=role).call("b", "done", parent="a")
    questions = story.check(orders=2)
    said = [message for task in questions.tasks()["items"] for message in questions.messages(task["id"])["items"]]
    [found] = [message for message in said if words in str(message["blocks"][0].get("text"))]
    assert found["author"] in author
    assert kind is None or found["author_kind"] == kind


def test_totals_of_a_task_and_of_its_tree() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "look"), task="1", usage={"input_tokens": 1000})
    child = story.line(session="s", agent="a1")
    child.say("look").call("b", "", http=529, task="2")
    child.call("c", "one", attempt_of="b", task="2", usage={"input_tokens": 100})
    main.ask("d", report("toolu_1", "a1"), "ok", task="1", usage={"input_tokens": 1000})
    story.subtask("b", by="a", via="toolu_1")
    questions = story.check()
    [root] = questions.tasks(roots=True)["items"]
    assert (root["usage"]["calls"], root["usage"]["input"]) == (2, 2000)
    assert (root["tree_usage"]["calls"], root["tree_usage"]["input"]) == (3, 2100)


def test_a_cut_stream_has_used_what_it_reported() -> None:
    story = Story()
    line = story.line(session="s").say("go")
    line.call("a", "a long one", cut="content_block_delta", outcome="cut", keep=False, usage={"input_tokens": 50, "output_tokens": 1})
    line.call("b", "done", attempt_of="a", usage={"input_tokens": 50})
    questions = story.check()
    usage = questions.conversations()["items"][0]["usage"]
    assert (usage["calls"], usage["input"]) == (1, 100)


def test_the_first_stranger_to_use_a_tool_id_keeps_it() -> None:
    """Some gateways count their ids from one; without a session nothing tells them apart but the order of asking."""
    story = Story()
    for name in ("x", "y"):
        main = story.line()
        main.ask(f"{name}1", f"go {name}", use("toolu_1", command=name), conversation=name, branch="main")
        main.ask(f"{name}2", result("toolu_1", f"saw {name}"), parent=f"{name}1", conversation=name, branch="main")
    story.check(orders=20)


def test_a_session_forked_before_an_agent_came_back() -> None:
    """The fork says how it did without the result; the call and its outcome stay the other session's."""
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "look"), branch="main", task="1", conversation="x")
    child = story.line(session="s", agent="a1")
    child.ask("b", "look", use("toolu_2", command="ls"), branch="subtask_1", task="sub", conversation="x")
    fork = main.copy(headers={"X-Claude-Code-Session-Id": "t"})
    stopped = "[Request interrupted by user for tool use]"
    fork.ask("f", [result("toolu_1", stopped, is_error=True), stopped, "do it yourself"], conversation="y", branch="main", task="2", parent=None)
    child.ask("c", result("toolu_2", "files"), "one", parent="b", branch="subtask_1", task="sub", conversation="x")
    main.ask("d", report("toolu_1", "a1", "one"), parent="a", branch="main", task="1", conversation="x")
    fork.ask("g", "go on", parent="f", conversation="y", branch="main")
    story.subtask("b", by="a", via="toolu_1", rule="agent-id-in-result", sure=True)
    questions = story.check(orders=20)
    assert questions.tool("toolu_1")["status"] == "ok"
    assert questions.stats()["tool_calls"] == 2
    assert next(task["status"] for task in questions.tasks()["items"] if task["agent"] == "a1") == "completed"


def test_the_clients_own_word_about_a_request_counts() -> None:
    story = Story()

    def asked(name: str, hint: str, system: str, **wanted: Any) -> None:
        line = story.line(session=f"session of {name}", tools=None, system=system)
        line.ask(name, "do it", headers={"x-claude-code-request-class": hint}, **wanted)

    asked("a", "main", TITLE, utility=None, kind="main")
    asked("b", "subagent", TITLE, utility=None)
    asked("c", "auxiliary", "Be brief.", utility="other", kind="utility")
    asked("d", "auxiliary", TITLE, utility="title")
    asked("e", "compaction", "Be brief.", utility="compaction", kind="utility")
    asked("f", "side_reply", TITLE, utility="title")
    story.check(orders=4)


def test_prompts_that_only_begin_like_a_helpers_are_real_work() -> None:
    story = Story()
    fleet = story.line(tools=None, system="Your task is to process Bash commands of our fleet.")
    fleet.ask("a", "reboot", "done", utility=None, kind="main")
    papers = story.line(tools=None, system="You are a helpful AI assistant tasked with summarizing papers.")
    papers.ask("b", "this one", "It says much.", utility=None, kind="main")
    papers.ask("c", "and this", "It says little.", utility=None, kind="main", parent="b", branch="main")
    story.check(orders=4)
