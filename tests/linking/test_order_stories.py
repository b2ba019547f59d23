"""Small worlds in which the order of arrival once decided: told in every order, their rows must be the same."""

import random
from itertools import permutations
from math import factorial
from typing import Any

from msgspec import structs

from ramify.model import ids
from ramify.model.entity import Call, Conversation, ToolCall
from ramify.model.ids import observation_id
from ramify.model.observation import Correction, Observation, Response
from ramify.storage.sqlite import Sqlite
from tests import story as stories
from tests.linking.session_builder import Transcript
from tests.linking.world_builder import (
    BEGIN,
    NOTHING,
    SECOND,
    Line,
    Story,
    agent,
    notification,
    reminder,
    report,
    result,
    text,
    use,
)

EVERY = 30  # orders; what has more of them is told in that many random ones
CLEARED = "[Old tool result content cleared]"
FORKED = "Fork started — working on the directive."
DIRECTIVE = "<fork-boilerplate>\nYou are a forked worker.\n</fork-boilerplate>\nYour directive: look"


def orders(story: Story) -> list[list[Observation]]:
    flat = [one for seen in story.seen for one in seen]
    if factorial(len(flat)) <= EVERY:
        return [list(order) for order in permutations(flat)]
    chance = random.Random(0)
    return [chance.sample(flat, len(flat)) for _ in range(EVERY)]


def one_outcome(story: Story) -> Sqlite:
    known, _ = story.told([one for seen in story.seen for one in seen])
    rows = stories.rows(known)
    for number, order in enumerate(orders(story)):
        other, _ = story.told(order, 1 + number % 3)
        assert stories.row_differences(rows, stories.rows(other)) == []
        other.close()
    return known


def tool(store: Sqlite, session: str, native: str) -> ToolCall | None:
    row = store.load("tools", ids.tool_call_id("default", session, native))
    assert row is None or isinstance(row, ToolCall)
    return row


def call_of(name: str) -> str:
    return ids.call_id(observation_id("told", name))


def task_of(name: str) -> str:
    return ids.opened_task_id(call_of(name))


def correct(story: Story, child: str, parent: str) -> None:
    at = BEGIN + int(story.now * SECOND)
    act = "link" if parent else "unlink"
    story.seen.append([Correction(observation_id("said", child, parent), "default", at, "person", act, child, parent)])


def resumed(line: Line, session: str) -> Line:
    return line.copy(headers={"X-Claude-Code-Session-Id": session})


# -- what came back ------------------------------------------------------------------------------------------------------


def test_a_notice_in_a_copied_history_is_the_other_sessions() -> None:
    story = Story()
    main = story.line(session="s").ask("a", "hello", "hi")
    main.ask("b", [notification("a1", "toolu_9"), "go on"], "fine")
    resumed(main, "t").ask("c", "more")
    store = one_outcome(story)
    assert tool(store, "t", "toolu_9") is None
    assert tool(store, "s", "toolu_9") is not None


def test_a_result_in_a_copied_history_stays_where_somebody_else_brings_it() -> None:
    """The copy is known by its words; a later request of that session holds the result among other words."""
    story = Story()
    main = story.line(session="s").ask("a", "hello", use("toolu_1", command="ls"))
    main.ask("b", result("toolu_1", "one"), "fine")
    resumed(main, "t").ask("c", "more")
    other = resumed(main, "t")
    other.messages[0]["content"][0]["text"] = "something else"
    other.ask("d", "and more")
    row = tool(one_outcome(story), "t", "toolu_1")
    assert row is not None
    assert row.result_call == call_of("d")


def test_of_two_results_of_one_tool_call_the_earliest_counts() -> None:
    story = Story()
    main = story.line(session="s").ask("a", "hello", use("toolu_1", command="ls"))
    other = main.copy()
    main.ask("b", result("toolu_1", "one"), overlap=True)
    other.ask("c", result("toolu_1", "two", is_error=True))
    row = tool(one_outcome(story), "s", "toolu_1")
    assert row is not None
    assert (row.result_call, row.status) == (call_of("b"), "ok")


def test_within_one_tick_the_first_notice_is_the_same_in_any_order() -> None:
    story = Story()
    story.line(session="s").ask("a", [notification("a1", "toolu_1", "failed"), "hello"], at=1)
    story.line(session="s").ask("b", [notification("a2", "toolu_1", "completed"), "look"], at=1)
    one_outcome(story)


def test_a_cleared_result_that_only_a_later_request_brings() -> None:
    story = Story()
    main = story.line().ask("a", "hello", use("toolu_1", command="ls"))
    main.ask("b", result("toolu_1", "one"), "fine", at=3)
    cleared = main.copy()
    cleared.messages[2]["content"][0]["content"] = CLEARED
    cleared.ask("c", "go on", at=6)
    main.ask("d", "look", at=9)
    story.seen = [story.seen[1], story.seen[2], story.seen[3]]
    one_outcome(story)


def test_a_cleared_result_that_the_parent_cannot_know() -> None:
    """Parent and result begin within one tick, so that only the child's words are known in full."""
    story = Story()
    main = story.line().ask("a", "look", use("toolu_1", command="ls"), at=0)
    full, cleared = main.copy(), main.copy()
    full.ask("b", result("toolu_1", "one"), at=1)
    cleared.ask("c", [result("toolu_1", CLEARED)], "fine", at=1)
    cleared.ask("d", "look", at=9)
    story.seen = story.seen[1:]
    one_outcome(story)


def test_a_cleared_result_changes_which_calls_were_weighed() -> None:
    story = Story()
    main = story.line(session="s").ask("a", "go on", use("toolu_1", command="ls"))
    main.ask("b", result("toolu_1", "one"), "fine")
    bare = main.copy(headers={})
    bare.messages[2]["content"][0]["content"] = CLEARED
    bare.ask("c", "hello", "well")
    twin = main.copy()
    twin.messages[2]["content"][0]["content"] = CLEARED
    twin.ask("d", "hello", NOTHING)
    bare.ask("e", "look")
    one_outcome(story)


# -- who asked for it ----------------------------------------------------------------------------------------------------


def test_one_id_that_two_calls_give_out() -> None:
    story = Story()
    story.line(session="s").ask("a", "hello", agent("toolu_1", "count"))
    story.line(session="s").ask("b", "go on", [agent("toolu_2", "look"), agent("toolu_1", "look")])
    story.line(session="s").ask("c", "look", "seen")
    row = tool(one_outcome(story), "s", "toolu_1")
    assert row is not None
    assert (row.call, row.prompt_text) == (call_of("a"), "count")


def test_a_forked_agent_and_a_claim_by_the_prompt() -> None:
    story = Story()
    main = story.line(session="s").ask("a", "go on", agent("toolu_1", "look"))
    story.line(session="s").ask("b", "look")
    main.ask("c", [result("toolu_1", FORKED), DIRECTIVE])
    row = tool(one_outcome(story), "s", "toolu_1")
    assert row is not None
    assert row.child == task_of("c")


def test_a_fork_inside_an_agent_begins_no_second_task() -> None:
    story = Story()
    main = story.line(session="s").ask("a", "go on", agent("toolu_1", "look"))
    story.line(session="s", agent="a1").ask("b", "look")
    fork = main.copy(headers={**main.headers, "x-claude-code-agent-id": "a1"})
    fork.ask("c", [result("toolu_1", FORKED), DIRECTIVE])
    main.ask("d", report("toolu_1", "a1"))
    row = tool(one_outcome(story), "s", "toolu_1")
    assert row is not None
    assert row.child == ids.agent_task_id("default", "s", "a1")


def test_nobody_is_started_by_a_call_behind_it_within_one_tick() -> None:
    story = Story()
    line = story.line().ask("a", "look", "fine", at=0, took=0)
    line.ask("b", "go on", agent("toolu_1", "look"), at=0)
    row = tool(one_outcome(story), "", "toolu_1")
    assert row is not None
    assert not row.child


def test_nobody_is_started_by_a_thread_behind_it_within_one_tick() -> None:
    story = Story()
    line = story.line().ask("a", ["hello", "look"], "fine", at=0, took=0)
    short = line.copy(messages=[])
    short.ask("b", "go on", agent("toolu_1", "look"), at=0, body={"thread": {"type": "continue", "previous_message_id": "msg_a"}})
    row = tool(one_outcome(story), "", "toolu_1")
    assert row is not None
    assert not row.child


def test_a_tool_of_ones_own_whose_result_comes_with_two_requests() -> None:
    """By the earlier one the child had not answered yet."""
    story = Story()
    main = story.line(session="s").ask("a", "go on", use("toolu_1", "delegate", job="look"), at=0)
    other = main.copy()
    main.ask("b", result("toolu_1", "seen"), at=3)
    story.line(session="s").ask("c", "look", "seen", at=5)
    other.ask("d", [reminder(), result("toolu_1", "seen")], at=9)
    row = tool(one_outcome(story), "s", "toolu_1")
    assert row is not None
    assert not row.child


# -- attempts ------------------------------------------------------------------------------------------------------------


def test_two_attempts_with_other_answers_are_one_call_for_what_follows() -> None:
    story = Story()
    line = story.line(user="bob").ask("a", "count", agent("toolu_1", "count"))
    line.say("look")
    line.copy().call("b", "well")
    line.copy().call("c", "fine")
    line.messages.append({"role": "assistant", "content": [agent("toolu_2", "count")]})
    line.ask("d", "go on")
    one_outcome(story)


def test_a_session_that_names_another_origin_is_no_further_attempt() -> None:
    def line(above: str) -> Line:
        return story.line(headers={"x-session-id": "q", "x-parent-session-id": above})

    story = Story()
    line("s").ask("a", "look", "fine")
    line("q").ask("b", "look", NOTHING).say("more", role="assistant").ask("c", "count", NOTHING)
    one_outcome(story)


# -- conversations -------------------------------------------------------------------------------------------------------


def test_when_an_answer_was_given_up_says_nothing() -> None:
    story = Story()
    story.line().ask("a", "look", "fine")
    answer = story.seen[0][1]
    assert isinstance(answer, Response)
    lost = structs.replace(answer, id=observation_id("lost"), at=answer.at + SECOND, status=0, headers=(), body=b"", outcome="lost")
    story.seen[0].append(lost)
    row = next(row for row in one_outcome(story).docs("conversations") if isinstance(row, Conversation))
    assert row.active == answer.at


def started(story: Story, session: str, above: str) -> Line:
    return story.line(headers={"x-session-id": session, "x-parent-session-id": above})


def sessions(store: Sqlite) -> dict[str, Any]:
    return {row.session: row for row in store.docs("conversations") if isinstance(row, Conversation)}


def test_sessions_three_deep_are_one_conversation() -> None:
    story = Story()
    started(story, "p", "q").ask("a", "count")
    started(story, "q", "s").ask("b", "hello")
    assert set(sessions(one_outcome(story))) == {"s"}


def test_sessions_that_name_each_other_are_one_conversation() -> None:
    story = Story()
    started(story, "p", "q").ask("a", "hello")
    started(story, "q", "p").ask("b", "go on")
    assert set(sessions(one_outcome(story))) == {"p"}


def test_a_conversation_began_with_those_that_stayed() -> None:
    """One session names two that started it: the first word counts, and its other call leaves."""
    story = Story()
    started(story, "q", "t").ask("a", "look", "", http=529)
    started(story, "q", "s").ask("b", "look")
    started(story, "r", "s").ask("c", "count")
    started(story, "p", "q").ask("d", "hello")
    one_outcome(story)


# -- a person's word -----------------------------------------------------------------------------------------------------


def test_a_correction_may_be_seen_before_those_it_is_about() -> None:
    story = Story()
    story.line().ask("a", "hello")
    story.line().ask("b", "look")
    correct(story, task_of("b"), task_of("a"))
    store = one_outcome(story)
    call = store.load("calls", call_of("b"))
    above = store.load("calls", call_of("a"))
    assert getattr(call, "conversation", "") == getattr(above, "conversation", None)


def test_nobody_can_be_corrected_under_what_came_later() -> None:
    """The later prompt stands on the earlier task's own line: it would vanish into its child."""
    story = Story()
    story.line().ask("a", "count", "done").ask("b", "go on")
    correct(story, task_of("a"), task_of("b"))
    correct(story, task_of("b"), task_of("b"))
    assert {row.id for row in one_outcome(story).docs("tasks")} == {task_of("a"), task_of("b")}


def test_a_parent_that_is_there_only_without_its_child_is_none() -> None:
    """As a child of its call, the line would hold the prompt that is named as its parent."""
    story = Story()
    main = story.line(session="s").ask("a", "hello", agent("toolu_1", "count"))
    main.ask("b", [result("toolu_1", FORKED), DIRECTIVE], "well")
    main.ask("c", "go on")
    correct(story, task_of("b"), task_of("c"))
    row = tool(one_outcome(story), "s", "toolu_1")
    assert row is not None
    assert row.child == task_of("b")


def test_a_task_that_was_taken_off_its_call_is_numbered_by_itself() -> None:
    story = Story()
    story.line(session="s").ask("a", "look", agent("toolu_1", "count"))
    story.line(session="s").ask("b", "look", agent("toolu_2", "count"))
    started(story, "r", "s").ask("c", "count")
    correct(story, task_of("c"), "")
    one_outcome(story)


def reported_beside(story: Story, told: Transcript) -> Sqlite:
    story.seen += [[one] for one in told.seen]
    return one_outcome(story)


def test_equal_openings_of_agents_that_only_reports_name_are_no_attempts() -> None:
    """The request that names one of them may come last; neither the call that started them nor the other's report is there."""
    told = Transcript()
    story = Story()
    one, two, main = (story.line(session=told.session) for _ in range(3))
    one.ask("a", "look", use("toolu_3"))
    two.ask("b", "look", use("toolu_4"))
    main.messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [agent("toolu_1", "look"), agent("toolu_2", "look")]}]
    main.ask("c", [report("toolu_2", "a2")], "done")
    told.answer("msg_b", use("toolu_4", "Bash", command="ls"), agent="a2", stop="tool_use")
    store = reported_beside(story, told)
    second = store.load("calls", call_of("b"))
    assert isinstance(second, Call)
    assert second.attempt_of == ""
    assert second.task == ids.agent_task_id("default", told.session, "a2")


def test_a_helper_without_a_session_is_the_one_that_was_reported() -> None:
    told = Transcript()
    story = Story()
    story.line(tools=None, system="You are a file search specialist for the client.").ask("a", "Warmup", "Nothing.")
    told.answer("msg_a", text("Nothing."), agent="a1")
    known = reported_beside(story, told).load("calls", ids.seen_call_id("default", "msg_a"))
    assert isinstance(known, Call)
    assert known.twin == call_of("a")


def test_a_call_whose_result_names_another_agent_has_not_started_the_reported_one() -> None:
    told = Transcript()
    told.answer("msg_1", use("toolu_2", "Agent", prompt="look"), stop="tool_use")
    told.answer("msg_b", use("toolu_4", "Bash", command="ls"), agent="a1", stop="tool_use")
    told.result("toolu_1", note={"status": "completed", "prompt": "look", "agentId": "a1"})
    told.result("toolu_2", note={"status": "completed", "prompt": "look", "agentId": "a2"})
    story = Story()
    story.now = 1.5
    story.line(session=told.session).ask("b", "look", use("toolu_4"))
    store = reported_beside(story, told)
    second = tool(store, told.session, "toolu_2")
    assert second is not None
    assert second.child == ids.agent_task_id("default", told.session, "a2")


def test_an_opening_is_no_attempt_of_one_that_a_report_gives_to_an_agent() -> None:
    told = Transcript()
    story = Story()
    one, two = story.line(session=told.session), story.line(session=told.session)
    one.ask("a", "look", use("toolu_3"))
    two.ask("b", "look", NOTHING)
    told.answer("msg_a", use("toolu_3", "Bash", command="ls"), agent="a1", stop="tool_use")
    known = reported_beside(story, told).load("calls", call_of("b"))
    assert isinstance(known, Call)
    assert known.attempt_of == ""
