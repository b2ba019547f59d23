"""Sub-tasks: offers and claims, with every kind of evidence and without any."""

from typing import Any

import pytest

from ramify.linking.world import Rules
from ramify.query.runs import Runs, runs
from tests import story as stories
from tests.linking.world_builder import Line, Story, agent, notification, reminder, report, result, text, use

SECOND = 1_000_000


@pytest.mark.parametrize("name", ["Task", "Agent", "task"])
def test_every_name_of_the_tool(name: str) -> None:
    story = Story()
    main = story.line().ask("a", "go", agent("toolu_1", "count", name), conversation="x", branch="main", task="1")
    story.line().ask("b", [reminder(), "count"], "7", conversation="x", branch="subtask_1", kind="subagent")
    main.ask("c", report("toolu_1", words="7"), parent="a", branch="main", task="1", conversation="x")
    story.subtask("b", by="a", via="toolu_1", rule="prompt-match", sure=False)
    story.check()


def test_todo_items_offer_nothing() -> None:
    story = Story()
    story.line(session="s").ask("a", "go", use("toolu_1", "TaskCreate", prompt="count", description="count"), branch="main")
    story.line(session="s").ask("b", "count", parent=None, branch="branch_1", kind="main")
    story.check()


def test_the_description_is_no_prompt() -> None:
    story = Story()
    story.line().ask("a", "go", agent("toolu_1", "count the files"), conversation="x")
    story.line().ask("b", "a piece of work", conversation="y", branch="main")
    story.check()


def nested(story: Story, headers: bool) -> None:
    lines: list[Line] = [story.line(session="s" if headers else "")]
    for depth in range(1, 5):
        above = f"a{depth - 2}" if depth > 2 else ""
        named = {"session": "s", "agent": f"a{depth - 1}", "parent_agent": above} if headers and depth > 1 else {}
        line = story.line(**named) if depth > 1 else lines[0]
        lines[depth - 1 :] = [line]
        said = "go" if depth == 1 else f"work of depth {depth - 1}"
        line.ask(f"c{depth}", said, agent(f"toolu_{depth}", f"work of depth {depth}"), conversation="x", branch=_branch(depth))
    last = {"session": "s", "agent": "a4", "parent_agent": "a3"} if headers else {}
    story.line(**last).ask("c5", "work of depth 4", "deep", conversation="x", branch="subtask_4", kind="subagent")
    for depth in range(4, 0, -1):
        back = report(f"toolu_{depth}", f"a{depth}" if headers else "", "deep")
        lines[depth - 1].ask(f"d{depth}", back, "deep", parent=f"c{depth}", branch=_branch(depth), conversation="x")
        story.subtask(f"c{depth + 1}", by=f"c{depth}", via=f"toolu_{depth}", sure=headers)


def _branch(depth: int) -> str:
    return "main" if depth == 1 else f"subtask_{depth - 1}"


@pytest.mark.parametrize("headers", [True, False])
def test_four_levels(headers: bool) -> None:
    story = Story()
    nested(story, headers)
    questions = story.check(orders=16)
    roots = questions.tasks(roots=True)["items"]
    assert len(roots) == 1
    assert roots[0]["usage"]["calls"] == 2
    assert roots[0]["tree_usage"]["calls"] == 9
    assert max(task["depth"] for task in questions.tasks(limit=0)["items"]) == 4


def test_equal_prompts_settled_crosswise_by_the_reports() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [agent("toolu_1", "look"), agent("toolu_2", "look")], branch="main")
    story.line(session="s", agent="a2").ask("b", "look", "two", overlap=True, branch="subtask_2", task="two")
    story.line(session="s", agent="a1").ask("c", "look", "one", overlap=True, branch="subtask_1", task="one")
    main.ask("d", [report("toolu_2", "a2"), report("toolu_1", "a1")], at=20, parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_2", rule="agent-id-in-result", sure=True)
    story.subtask("c", by="a", via="toolu_1", rule="agent-id-in-result", sure=True)
    story.check(orders=24)


def test_an_agent_whose_offer_was_never_seen() -> None:
    story = Story()
    story.line(session="s").ask("a", "go", "", http=500, task="1", branch="main")
    line = story.line(session="s", agent="a1")
    line.ask("b", "look", "one", task="sub", branch="subtask_1", conversation="x", kind="subagent")
    line.ask("c", "more", "two", parent="b", task="sub", branch="subtask_1", conversation="x")
    story.subtask("b", by="a", via=None, rule="agent-id-header", sure=True)
    story.check()


def test_an_agent_alone_in_the_world() -> None:
    story = Story()
    story.line(session="s", agent="a1").ask("b", "look", "one", kind="subagent", branch="subtask_1")
    questions = story.check()
    assert questions.tasks()["items"][0]["flags"] == ["orphan"]


def test_the_header_names_the_calling_agent() -> None:
    """Main and an agent ask for the same; who asked for which child is stated."""
    story = Story()
    story.line(session="s").ask("a", "go", [agent("toolu_1", "plan"), agent("toolu_2", "look")], branch="main")
    story.line(session="s", agent="a1").ask("b", "plan", agent("toolu_3", "look"), branch="subtask_1")
    story.line(session="s", agent="a2", parent_agent="a1").ask("c", "look", branch="subtask_3", overlap=True)
    story.line(session="s", agent="a3").ask("d", "look", branch="subtask_2")
    story.subtask("b", by="a", via="toolu_1")
    story.subtask("c", by="b", via="toolu_3")
    story.subtask("d", by="a", via="toolu_2")
    story.check(orders=20)


def test_an_offer_in_an_aborted_answer() -> None:
    story = Story()
    story.line().ask("a", "go", agent("toolu_1", "count"), cut="event: message_delta", outcome="aborted", status="aborted", conversation="x")
    story.line().ask("b", "count", conversation="x", branch="subtask_1")
    story.subtask("b", by="a", via="toolu_1")
    story.check()


def test_a_child_that_starts_while_its_parent_still_streams() -> None:
    story = Story()
    main = story.line().ask("a", "go", agent("toolu_1", "count"), took=30, overlap=True, conversation="x")
    story.line().ask("b", "count", at=5, took=2, conversation="x", branch="subtask_1")
    main.ask("c", report("toolu_1"), at=40, parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_1")
    story.check(orders=20)


@pytest.mark.parametrize("role", ["user", "system"])
def test_work_in_the_background(role: str) -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [agent("toolu_1", "look"), agent("toolu_2", "look")], branch="main", task="1")
    receipts = [result(f"toolu_{n}", "Async agent launched successfully. The agent is working.") for n in (1, 2)]
    main.ask("b", receipts, "waiting", parent="a", branch="main", task="1")
    story.line(session="s", agent="a2").ask("c", "look", "two", branch="subtask_2", overlap=True)
    story.line(session="s", agent="a1").ask("d", "look", "one", branch="subtask_1")
    main.say(notification("a1", "toolu_1"), notification("a2", "toolu_2", "failed"), role=role)
    main.call("e", "both are back", parent="b", branch="main", task="1")
    main.ask("f", "thanks", parent="e", branch="main", task="2")
    story.subtask("c", by="a", via="toolu_2", sure=True)
    story.subtask("d", by="a", via="toolu_1", sure=True)
    questions = story.check(orders=20)
    status = {task["agent"]: task["status"] for task in questions.tasks()["items"] if task["agent"]}
    assert status == {"a1": "completed", "a2": "failed"}


def test_a_resumed_agent_is_the_same_task() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "look"), branch="main", task="1")
    child = story.line(session="s", agent="a1").ask("b", "look", "one", branch="subtask_1", task="sub")
    main.ask("c", report("toolu_1", "a1"), use("toolu_2", "SendMessage", to="a1", message="look again"), parent="a", task="1")
    child.ask("d", "look again", use("toolu_3", command="ls"), parent="b", branch="subtask_1", task="sub")
    main.ask("e", result("toolu_2", '{"resumedAgentId": "a1"}'), "ok", parent="c", task="1")
    main.ask("f", notification("a1", "toolu_2", "killed"), "so be it", parent="e", task="1", branch="main")
    story.subtask("b", by="a", via="toolu_1", rule="agent-id-in-result", sure=True)
    questions = story.check(orders=20)
    task = next(task for task in questions.tasks()["items"] if task["agent"])
    assert task["status"] in ("working", "canceled")


def test_a_resumed_agent_without_headers_is_the_same_task() -> None:
    story = Story()
    main = story.line()
    main.ask("a", "go", agent("toolu_1", "look"), branch="main", task="1", conversation="x")
    child = story.line().ask("b", "look", "one", branch="subtask_1", task="sub")
    main.ask("c", report("toolu_1", "a1"), use("toolu_2", "SendMessage", to="a1", message="look again"), parent="a", task="1")
    child.ask("d", "look again", "two", parent="b", branch="subtask_1", task="sub", conversation="x")
    story.subtask("b", by="a", via="toolu_1", sure=False)
    story.check()


FORKED = "Fork started — working on the directive."
DIRECTIVE = "<fork-boilerplate>\nYou are a forked worker.\n</fork-boilerplate>\nYour directive: check the tests"


@pytest.mark.parametrize("headers", [True, False])
def test_a_fork_agent_names_its_own_call(headers: bool) -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", "sure", task="1", branch="main")
    said = agent("toolu_1", "check the tests", subagent_type="fork")
    main.ask("b", "now fork", said, parent="a", task="2", branch="main")
    fork = main.copy(headers={**main.headers, **({"x-claude-code-agent-id": "f1"} if headers else {})})
    fork.say(result("toolu_1", FORKED), DIRECTIVE)
    fork.call("c", use("toolu_2", command="pytest"), branch="subtask_1", task="sub", kind="subagent")
    main.ask("d", result("toolu_1", "Async agent launched successfully."), "waiting", parent="b", branch="main", task="2")
    fork.ask("e", result("toolu_2", "green"), "all green", parent="c", branch="subtask_1", task="sub")
    main.ask("f", "thanks", parent="d", branch="main", task="3")
    story.subtask("c", by="b", via="toolu_1", sure=True)
    story.check(orders=20)


@pytest.mark.parametrize("headers", [True, False])
def test_agents_of_a_workflow_hang_under_its_call(headers: bool) -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", use("toolu_1", "Workflow", script="two agents"), task="1", branch="main")
    main.ask("b", result("toolu_1", "Workflow launched in the background."), "waiting", parent="a", task="1")
    for number in (1, 2):
        named = {"agent": f"w{number}"} if headers else {}
        line = story.line(session="s", **named)
        line.ask(f"c{number}", f"[Workflow harness] You are step {number}", "done", branch=f"subtask_{number}", kind="subagent", overlap=True)
        story.subtask(f"c{number}", by="a", via="toolu_1", sure=False)
    story.shared = ["toolu_1"]
    story.check(orders=20)


def test_a_report_without_an_agent_line() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [agent("toolu_1", "look", subagent_type="Explore"), agent("toolu_2", "look", subagent_type="Explore")])
    story.line(session="s", agent="a1").ask("b", "look", "one", overlap=True)
    story.line(session="s", agent="a2").ask("c", "look", "two", overlap=True)
    main.ask("d", [result("toolu_1", "one"), result("toolu_2", "two")], at=20, parent="a")
    story.subtask("b", by="a", via="toolu_1", rule="prompt-match", sure=False)
    story.subtask("c", by="a", via="toolu_2", rule="prompt-match", sure=False)
    story.swappable = ["toolu_1", "toolu_2"]
    story.check()


def test_a_shell_that_prints_an_agent_line_proves_nothing() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [use("toolu_0", command="cat log"), agent("toolu_1", "look")], branch="main")
    story.line(session="s", agent="a1").ask("b", "look", "one", branch="subtask_1")
    main.ask("c", [result("toolu_0", "agentId: a1"), result("toolu_1", "one")], parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_1", rule="prompt-match", sure=False)
    story.check(orders=20)


def test_a_forged_line_inside_a_report_proves_nothing() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [agent("toolu_1", "look"), agent("toolu_2", "see")], branch="main")
    story.line(session="s", agent="a1").ask("b", "look", "agentId: a2", branch="subtask_1", overlap=True)
    story.line(session="s", agent="a2").ask("c", "see", "two", branch="subtask_2")
    words = "[Subagent hand-back] The report follows:\n  agentId: a2\n  agentId: a9"
    main.ask("d", [report("toolu_1", "a1", words), report("toolu_2", "a2")], at=20, parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_1", sure=True)
    story.subtask("c", by="a", via="toolu_2", sure=True)
    story.check()


def test_an_unknown_type_of_agent_makes_no_task() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "look", subagent_type="nobody"), branch="main", task="1")
    main.ask("b", result("toolu_1", "Agent type 'nobody' not found", is_error=True), agent("toolu_2", "look"), parent="a", task="1")
    story.line(session="s", agent="a1").ask("c", "look", "one", branch="subtask_1")
    main.ask("d", report("toolu_2"), parent="b", branch="main", task="1")
    story.subtask("c", by="b", via="toolu_2")
    story.check(orders=20)


def test_a_tool_of_ones_own_with_several_candidates() -> None:
    story = Story()
    main = story.line()
    main.ask("a", "go", [use("toolu_1", "delegate", to="x", job="look here"), use("toolu_2", "delegate", to="y", job="look there")], conversation="x", branch="main")
    story.line().ask("b", "look there", "saw there", branch="subtask_2", conversation="x", overlap=True)
    story.line().ask("c", "look here", "saw here", branch="subtask_1", conversation="x", overlap=True)
    story.line().ask("d", "look nowhere", "saw here", branch="main", conversation="y", overlap=True)
    main.ask("e", [result("toolu_1", "saw here"), result("toolu_2", "saw there")], at=20, parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_2", sure=False)
    story.subtask("c", by="a", via="toolu_1", sure=False)
    story.check(orders=20)


def test_two_equal_delegations_have_two_children() -> None:
    story = Story()
    main = story.line()
    main.ask("a", "go", [use("toolu_1", "delegate", job="look"), use("toolu_2", "delegate", job="look")], conversation="x", branch="main")
    story.line().ask("b", "look", "saw", conversation="x", overlap=True)
    story.line().ask("c", "look", "saw", conversation="x", overlap=True)
    main.ask("e", [result("toolu_1", "saw"), result("toolu_2", "saw")], at=20, parent="a", branch="main")
    story.subtask("b", by="a", via="toolu_1", sure=False)
    story.subtask("c", by="a", via="toolu_2", sure=False)
    story.swappable = ["toolu_1", "toolu_2"]
    story.check(orders=20)


def test_a_search_for_the_words_of_an_opening_is_no_delegation() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", use("toolu_1", "WebSearch", query="best cheese"), branch="main")
    story.line(session="s").ask("b", "best cheese", "Comté", branch="branch_1", parent=None, kind="main")
    main.ask("c", result("toolu_1", "ten links about cheese"), parent="a", branch="main")
    story.check()


@pytest.mark.parametrize(("window", "after", "linked"), [(30, 10, True), (30, 60, False), (86_400, 80_000, True), (86_400, 90_000, False)])
def test_the_window_without_a_session(window: int, after: int, linked: bool) -> None:
    story = Story(Rules(windows={"near": window * SECOND}))
    story.line(project="near").ask("a", "go", agent("toolu_1", "look"), conversation="x", branch="main")
    branch = {"branch": "subtask_1", "conversation": "x"} if linked else {"branch": "main", "conversation": "y"}
    story.line(project="near").ask("b", "look", "one", at=after, **branch)
    if linked:
        story.subtask("b", by="a", via="toolu_1", sure=False)
    story.check()


def test_no_window_inside_a_session() -> None:
    story = Story(Rules(window=30 * SECOND))
    story.line(session="s").ask("a", "go", agent("toolu_1", "look"), branch="main")
    story.line(session="s").ask("b", "look", "one", at=900_000, branch="subtask_1")
    story.subtask("b", by="a", via="toolu_1", sure=False)
    story.check()


def test_later_words_equal_to_a_prompt_claim_nothing() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "look"), branch="main", task="1")
    other = story.line(session="s").ask("b", "hello", "hi", branch="branch_1")
    other.ask("c", "look", "where?", parent="b", branch="branch_1")
    story.check()


def test_a_closed_offer_takes_nobody() -> None:
    story = Story()
    main = story.line().ask("a", "go", agent("toolu_1", "look"), conversation="x")
    main.ask("b", report("toolu_1"), "ok", parent="a")
    story.line().ask("c", "look", conversation="y", branch="main")
    story.check()


def test_a_prompt_with_odd_white_space_and_literal_escapes() -> None:
    story = Story()
    story.line().ask("a", "go", agent("toolu_1", "  look at\r\nthe \\n sign \n"), conversation="x")
    story.line().ask("b", [reminder(), "look at\nthe \\n sign"], conversation="x", branch="subtask_1")
    story.subtask("b", by="a", via="toolu_1")
    story.check()


def test_a_prompt_in_two_blocks_is_claimed_as_a_whole() -> None:
    story = Story()
    story.line().ask("a", "go", agent("toolu_1", "look here\n\nand there"), conversation="x")
    story.line().ask("b", [text("look here"), text("and there")], conversation="x", branch="subtask_1")
    story.subtask("b", by="a", via="toolu_1")
    story.check()


def opencode(story: Story, session: str, parent: str = "") -> Line:
    more: dict[str, Any] = {"x-session-id": session}
    return story.line(headers=more | ({"x-parent-session-id": parent} if parent else {}))


def test_a_session_that_names_its_parent_session() -> None:
    story = Story()
    main = opencode(story, "p").ask("a", "go", agent("toolu_1", "look", "task"), conversation="x", branch="main", task="1")
    child = opencode(story, "c", "p").ask("b", "look", agent("toolu_2", "dig", "task"), conversation="x", branch="subtask_1", task="2", kind="subagent")
    opencode(story, "g", "c").ask("c", "dig", "gold", conversation="x", branch="subtask_2", task="3", kind="subagent")
    child.ask("d", result("toolu_2", "gold"), "gold!", parent="b", conversation="x", branch="subtask_1", task="2")
    main.ask("e", result("toolu_1", "gold!"), parent="a", conversation="x", branch="main", task="1")
    story.subtask("b", by="a", via="toolu_1", sure=False)
    story.subtask("c", by="b", via="toolu_2", sure=False)
    story.check(orders=20)


def test_a_child_session_whose_call_is_unknown() -> None:
    story = Story()
    opencode(story, "p").ask("a", "go", "ok", conversation="x", branch="main", task="1")
    child = opencode(story, "c", "p").ask("b", "something else", "done", conversation="x", branch="subtask_1", task="2")
    child.ask("c", "more", parent="b", conversation="x", branch="subtask_1", task="2")
    story.subtask("b", by="a", via=None)
    story.check(orders=20)


def test_a_client_that_an_agents_shell_started_hangs_under_the_trace_it_inherited() -> None:
    story = Story()
    trace = {"traceparent": f"00-{'ab' * 16}-{'01' * 8}-01"}
    other = {"traceparent": f"00-{'cd' * 16}-{'02' * 8}-01"}
    shell = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "claude -p hello"}}
    main = story.line(session="s1", headers=trace).ask("a", "go", [shell], conversation="x", branch="main", task="1")
    story.line(session="s2", headers=trace).ask("b", "hello", "hi", conversation="y", branch="main", task="2")
    story.line(session="s3", headers=other).ask("c", "alone", "hi", conversation="z", branch="main", task="3")
    main.ask("d", result("toolu_1", "hi"), parent="a", conversation="x", branch="main", task="1")
    store, questions = story.told([one for seen in story.seen for one in seen])
    calls = stories.calls_by_exchange(questions)
    link = questions.task(calls["b"]["task"])["link"]
    assert (link["parent"], link["rule"], link["certainty"]) == (calls["a"]["task"], "same-trace", 0.5)
    assert questions.task(calls["c"]["task"])["link"] is None
    assert [child["id"] for child in questions.tree(calls["a"]["task"])["children"]] == [calls["b"]["task"]]
    assert [root["id"] for root in questions.tree(calls["b"]["conversation"])["roots"]] == [calls["b"]["task"]]
    for whole in (calls["a"]["task"], calls["a"]["conversation"]):
        assert list(questions.skeleton(whole)["rows"]["id"]) == [calls["a"]["task"], calls["b"]["task"]]
        assert questions.skeleton(whole)["rows"]["depth"] == [0, 1]
    alone = questions.skeleton(calls["b"]["conversation"])
    assert (list(alone["rows"]["id"]), list(alone["unattached"]["id"])) == ([calls["b"]["task"]], [])
    run = next(run for run in runs(store, Runs(), 50, None)["items"] if run["id"] == calls["a"]["task"])
    assert (run["subtasks"], run["tree_usage"]) == (1, questions.tree(calls["a"]["task"])["tree_usage"])
    assert questions.task(calls["a"]["task"])["tree_usage"] == run["tree_usage"]
    rows = stories.rows(store)
    for seed in range(12):
        mixed, _ = story.told(story.mixed(seed), 1 + seed % 4)
        assert stories.row_differences(rows, stories.rows(mixed)) == []


@pytest.mark.parametrize(
    ("asked", "sent"),
    [(("general-purpose", "Explore"), ("Explore", "general-purpose")), (("general-purpose", "reviewer"), ("custom", "general-purpose"))],
)
def test_equal_prompts_are_told_apart_by_the_type_of_agent_that_the_client_names(asked: tuple[str, str], sent: tuple[str, str]) -> None:
    story = Story()
    offers = [agent(f"toolu_{number}", "look", subagent_type=one) for number, one in enumerate(asked, 1)]
    story.line(session="s").ask("a", "go", offers, task="1", branch="main")
    for name, type, branch in (("b", sent[0], "subtask_2"), ("c", sent[1], "subtask_1")):
        child = story.line(session="s", agent=f"agent_{name}", headers={"x-claude-code-agent-type": type})
        child.ask(name, "look", branch=branch, kind="subagent")
    story.subtask("b", by="a", via="toolu_2", rule="prompt-match", sure=False)
    story.subtask("c", by="a", via="toolu_1", rule="prompt-match", sure=False)
    questions = story.check()
    links = [task["link"] for task in questions.tasks()["items"] if task["link"]]
    assert [link["certainty"] for link in links] == [0.95, 0.95]
    reasons = {lost["rejected_because"] for link in links for lost in questions.why(questions.tool(link["via"])["spawned"][0])["candidates"]}
    assert reasons <= {"it asked for another type of agent", "taken: one offer, one child"}


@pytest.mark.parametrize(("ending", "status"), [({"cut": "content_block_stop"}, "completed"), ({"http": 529}, "failed")])
def test_a_caller_that_has_the_answer_knows_better_than_a_stream_that_was_cut(ending: dict[str, Any], status: str) -> None:
    """Old clients report a failure as if it were an answer. But whoever recorded the stream may have gone away before its end."""
    story = Story()
    main, child = story.line(session="s"), story.line(session="s", agent="a1")
    main.ask("a", "go", agent("toolu_1", "look"))
    child.ask("b", "look", "I looked.", **ending)
    main.ask("c", report("toolu_1", "a1", "I looked."), "done")
    story.subtask("b", by="a", via="toolu_1")
    questions = story.check()
    assert questions.task("a1")["status"] == status
