"""Attempts, forks and edits: what is sent again, and what only looks like it."""

import pytest

from tests.linking.world_builder import LOST, NOTHING, Story, agent, report, result, text, use


def test_an_overloaded_turn_is_sent_again() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "one", "1", conversation="x", task="1")
    line.say("two")
    line.call("b", "", http=529, status="error", parent="a", task="2", branch="main")
    line.call("c", "2", attempt_of="b", parent="a", task="2", branch="main")
    line.ask("d", "three", parent="c", branch="main", conversation="x")
    story.check()


def test_a_cut_stream_is_asked_again_without_one() -> None:
    story = Story()
    line = story.line(session="s")
    line.say("one")
    line.call("a", "a long answer", cut="content_block_stop", outcome="cut", keep=False, status="error", conversation="x")
    line.call("b", "a long answer", plain=True, body={"stream": False}, attempt_of="a", branch="main", conversation="x")
    line.ask("c", "two", parent="b", branch="main", conversation="x")
    story.check()


def test_six_attempts_with_other_tools_are_one_call() -> None:
    story = Story()
    line = story.line(session="s")
    line.say("one")
    for number in range(5):
        line.tools = [{"name": f"T{number}"}]
        first = {"attempt_of": "a0"} if number else {"attempt_of": None}
        line.call(f"a{number}", "", http=400, headers={"anthropic-beta": f"b{number}"}, branch="main", task="1", **first)
    line.call("a5", "ok", attempt_of="a0", branch="main", task="1")
    line.ask("b", "two", parent="a5", branch="main", task="2")
    story.check()


def test_retry_of_a_sub_agents_first_call_while_its_offer_is_open() -> None:
    story = Story()
    main, child = story.line(), story.line()
    main.ask("a", "go", agent("toolu_1", "count the files"), conversation="x")
    child.say("count the files")
    child.call("b", "", http=529, task="sub", branch="subtask_1")
    child.call("c", "seven", attempt_of="b", task="sub", branch="subtask_1", conversation="x")
    main.ask("d", report("toolu_1", words="seven"), "there are seven", parent="a", branch="main", conversation="x")
    story.subtask("b", by="a", via="toolu_1")
    story.check()


def test_the_same_words_after_a_closed_offer_are_a_new_run() -> None:
    story = Story()
    main = story.line()
    main.ask("a", "go", agent("toolu_1", "count the files"), conversation="x")
    story.line().ask("b", "count the files", "", http=529, branch="subtask_1", conversation="x")
    main.ask("c", result("toolu_1", "it failed", is_error=True), agent("toolu_2", "count the files"), parent="a")
    story.line().ask("d", "count the files", "seven", attempt_of=None, branch="subtask_2", conversation="x")
    main.ask("e", report("toolu_2", words="seven"), parent="c", branch="main", conversation="x")
    story.subtask("b", by="a", via="toolu_1")
    story.subtask("d", by="c", via="toolu_2")
    story.check()


def test_a_child_may_begin_with_its_parents_very_words() -> None:
    for cut in (False, True):
        story = Story()
        how = {"cut": "message_delta", "outcome": "cut"} if cut else {}
        story.line().ask("a", "do it", agent("toolu_1", "do it"), conversation="x", branch="main", **how)
        story.line().ask("b", "do it", "done", attempt_of=None, branch="subtask_1", conversation="x")
        story.subtask("b", by="a", via="toolu_1")
        story.check()


def test_equal_requests_that_overlap_are_twins() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "one", "1")
    line.say("two")
    line.call("b", "left", took=5, overlap=True, keep=False, parent="a", branch="main")
    line.call("c", "right", took=5, attempt_of=None, parent="a", branch="branch_1")
    line.ask("d", "three", parent="c", branch="branch_1")
    story.check()


def test_a_retry_while_another_twin_runs() -> None:
    story = Story()
    main = story.line()
    main.ask("a", "go", [agent("toolu_1", "look"), agent("toolu_2", "look")], conversation="x")
    story.line().ask("b", "look", "", http=529, took=1, overlap=True, conversation="x")
    story.line().ask("c", "look", "found", took=20, overlap=True, conversation="x", attempt_of=None)
    story.line().ask("d", "look", "found", at=9, took=2, attempt_of="b", conversation="x")
    story.subtask("b", by="a", via="toolu_1")
    story.subtask("c", by="a", via="toolu_2")
    story.swappable = ["toolu_1", "toolu_2"]
    story.check()


def test_an_answered_opening_again_is_an_attempt_only_in_one_session() -> None:
    story = Story()
    story.line().ask("a", "hello", "hi", conversation="x", attempt_of=None)
    story.line().ask("b", "hello", "hi", conversation="y", attempt_of=None)
    story.line(session="s").ask("c", "hello", "hi", conversation="z", attempt_of=None)
    story.line(session="s").ask("d", "hello", "hi", conversation="z", attempt_of="c", branch="main")
    story.line(session="t").ask("e", "hello", "hi", conversation="w", attempt_of=None)
    story.check()


def test_an_opening_that_was_never_answered_is_sent_again() -> None:
    story = Story()
    story.line().ask("a", "hello", LOST, conversation="x")
    line = story.line().ask("b", "hello", "hi", conversation="x", attempt_of="a")
    line.ask("c", "again", parent="b", conversation="x", branch="main")
    story.check()


def test_a_running_opening_is_no_failed_one() -> None:
    story = Story()
    story.line().ask("a", "hello", NOTHING, conversation="x", status="running")
    story.line().ask("b", "hello", "hi", conversation="y", attempt_of=None)
    story.check()


def test_an_edit_of_an_earlier_turn_is_a_fork() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "one", "1", branch="main")
    edited = line.copy()
    line.ask("b", "two", "2", branch="main", parent="a")
    line.ask("c", "three", "3", branch="main", parent="b")
    edited.ask("d", "two, I mean", "2!", branch="branch_1", parent="a")
    line.ask("e", "four", branch="main", parent="c")
    edited.ask("f", "go on", branch="branch_1", parent="d")
    story.check()


def test_an_edit_of_the_opening() -> None:
    story = Story()
    story.line(session="s").ask("a", "one", conversation="x", branch="main")
    line = story.line(session="s").ask("b", "one, I mean", conversation="x", branch="branch_1", parent=None)
    line.ask("c", "go on", conversation="x", branch="branch_1", parent="b")
    story.line().ask("d", "two", conversation="y", branch="main")
    story.line().ask("e", "two, I mean", conversation="z", branch="main")
    story.check()


def test_an_aborted_turn_goes_on_with_its_partial_words() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "tell", ["It began", use("toolu_1", command="ls")], cut="input_json_delta", outcome="aborted", keep=False, task="1")
    line.say("It began", role="assistant")
    line.ask("b", ["[Request interrupted by user]", "shorter"], parent="a", branch="main", task="2")
    story.check()


def test_the_continuation_of_a_retried_call_carries_the_answered_ones_words() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "one", "1")
    line.say("two")
    line.call("b", "left", keep=False, parent="a")
    line.call("c", "right", keep=False, attempt_of="b", parent="a")
    line.call("d", "", http=500, attempt_of="b", parent="a")
    line.say("left", role="assistant")
    line.ask("e", "three", parent="b", branch="main")
    story.check()


def test_forks_from_two_attempts_of_one_call() -> None:
    story = Story()
    line = story.line(session="s")
    line.say("one")
    line.call("a", "left", keep=False)
    line.call("b", "right", keep=False, attempt_of="a")
    left = line.copy().say("left", role="assistant")
    right = line.copy().say("right", role="assistant")
    left.ask("c", "two", parent="a", branch="main")
    right.ask("d", "two", parent="b", branch="branch_1")
    story.check()


def test_attempts_of_one_call_count_once() -> None:
    story = Story()
    line = story.line(session="s")
    line.say("one")
    line.call("a", "left", keep=False, usage={"input_tokens": 100})
    line.call("b", "", http=529, attempt_of="a")
    line.call("c", "right", attempt_of="a", usage={"input_tokens": 100})
    line.ask("d", "two", parent="c", usage={"input_tokens": 1000})
    questions = story.check()
    conversation = questions.conversations()["items"][0]
    assert conversation["usage"]["calls"] == 2
    assert conversation["usage"]["input"] == 1200
    assert [task["usage"]["calls"] for task in questions.tasks()["items"]] == [1, 1]


def test_the_words_of_an_answer_that_was_believed_lost() -> None:
    """A server that starts again gives up what it does not know to be running; the answer may still come."""
    from ramify.model.observation import Response

    story = Story()
    line = story.line(session="s")
    line.ask("a", "one", ["here", agent("toolu_1", "count")], status="ok")
    story.line(session="s").ask("b", "count", "seven")
    line.ask("c", report("toolu_1"), "ok", parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_1")
    real = story.seen[0][1]
    assert isinstance(real, Response)
    lost = Response("obs_lost", real.project, real.at + 90, "proxy", real.request, real.path, 0, (), b"", "lost")
    story.seen.append([lost])
    questions = story.check(orders=20)
    assert questions.conversations()["items"][0]["usage"]["calls"] == 3


def test_a_turn_that_was_sent_again_with_a_growing_tail() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "one", "", http=529, task="1", branch="main")
    line.messages[0]["content"].append(text("and two"))
    line.call("b", "ok", parent="a", branch="main")
    story.check()


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("how", ["error", "aborted", "ok"])
def test_work_that_a_lost_answer_asked_for_is_the_next_attempts(how: str, headers: bool) -> None:
    """Both answers ask for the same in the same words; the client has only the second."""
    story = Story()
    main = story.line(session="s").say("go")
    lost = {"ok": {}, "error": {"cut": "event: message_delta", "outcome": "cut"}, "aborted": {"cut": "event: message_delta", "outcome": "aborted"}}
    main.call("a", agent("toolu_1", "look"), keep=False, status=how, branch="main", task="1", **lost[how])
    main.call("b", agent("toolu_2", "look"), attempt_of="a", branch="main", task="1")
    child = story.line(session="s", agent="a1" if headers else "")
    child.ask("c", "look", "one", branch="subtask_1", kind="subagent", task="sub")
    main.ask("d", result("toolu_2", "one"), parent="b", branch="main", task="1")
    story.subtask("c", by="b", via="toolu_2", rule="prompt-match", sure=False)
    questions = story.check(orders=16)
    [child_task] = [task for task in questions.tasks()["items"] if task["link"]]
    [loser] = questions.why(child_task["id"])["candidates"]
    assert loser["rejected_because"] == "its caller's line had gone on without it"


def test_work_of_a_turn_that_was_given_up_is_the_next_turns() -> None:
    story = Story()
    main = story.line(session="s")
    said = [text("I begin."), agent("toolu_1", "look")]
    main.ask("a", "go", said, cut="event: message_delta", outcome="aborted", keep=False, branch="main", task="1")
    main.say(text("I begin."), role="assistant")
    main.ask("b", ["[Request interrupted by user]", "once more"], agent("toolu_2", "look"), parent="a", branch="main", task="2")
    story.line(session="s", agent="a1").ask("c", "look", "one", kind="subagent", task="sub")
    main.ask("d", result("toolu_2", "one"), parent="b", branch="main", task="2")
    story.subtask("c", by="b", via="toolu_2")
    story.check(orders=16)


def test_a_child_that_began_before_the_answer_was_lost_is_its_own() -> None:
    story = Story()
    main = story.line(session="s").say("go")
    main.call("a", agent("toolu_1", "look"), cut="event: message_delta", outcome="cut", keep=False, took=4.0, overlap=True)
    story.line(session="s", agent="a1").ask("c", "look", "one", kind="subagent", at=2.0)
    main.call("b", agent("toolu_2", "look"), at=6.0, attempt_of="a")
    story.subtask("c", by="a", via="toolu_1")
    story.check(orders=16)


@pytest.mark.parametrize("how", ["tool", "words", "later"])
def test_a_turn_that_a_person_interrupted_is_canceled_when_the_next_prompt_says_so(how: str) -> None:
    story = Story()
    line = story.line(session="s").ask("a", "go", use("toolu_1", command="sleep 99"), task="1", branch="main")
    refused = result("toolu_1", "[Request interrupted by user for tool use]", is_error=True)
    if how == "words":
        line.ask("b", result("toolu_1"), use("toolu_2", command="sleep 99"), parent="a", task="1", branch="main")
        refused = result("toolu_2", "stopped", is_error=True)
    mark = "[Request interrupted by user for tool use]" if how != "words" else "[Request interrupted by user]"
    line.say([refused, text(mark)])
    line.ask("c", "something else", "done", parent="b" if how == "words" else "a", task="2", branch="main")
    if how == "later":
        line.ask("d", "and more", "done", parent="c", task="3", branch="main")
    questions = story.check(orders=20)
    tasks = {task["prompt"]: task for task in questions.tasks()["items"]}
    assert (tasks["go"]["status"], tasks["go"]["flags"]) == ("canceled", [])
    assert {task["status"] for prompt, task in tasks.items() if prompt != "go"} == {"completed"}
    assert tasks["go"]["closed"] < tasks["something else"]["opened"]


def test_what_was_said_behind_a_mark_of_somebody_else_interrupts_nothing() -> None:
    story = Story()
    line = story.line(session="s").ask("a", "go", use("toolu_1", command="cat log"), task="1", branch="main")
    line.ask("b", [result("toolu_1", "[Request interrupted by user]"), text("Why [Request interrupted by user]?")], parent="a", task="2", branch="main")
    tasks = {task["prompt"]: task["status"] for task in story.check(orders=3).tasks()["items"]}
    assert tasks["go"] != "canceled"
