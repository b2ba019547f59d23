"""Compaction by every client that is known, by the API, inside a sub-agent, and what only looks like one."""

from typing import Any

import pytest

from tests.linking.world_builder import Line, Story, agent, reminder, report, result, text, thinking, use

L = "This session is being continued from a previous conversation that ran out of context. "
BELOW = "The summary below covers the earlier portion of the conversation.\n\n"
M1 = "Your task is to create a detailed summary of the conversation so far, paying close attention to the user."
M2 = "You are a helpful AI assistant tasked with summarizing conversations."
M3 = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n" + M1
T1 = "Please continue the conversation from where we left it off without asking the user any further questions."
T2 = "If you need specific details from before compaction, read the transcript.\nContinue the conversation from where it left off."
LONG = "The person wants the parser fixed. " * 8
ANSWER = f"<analysis>\nFirst this, then that.\n</analysis>\n\n<summary>\n{LONG}\n</summary>"


def begun(story: Story, **scope: Any) -> Line:
    line = story.line(**scope)
    line.ask("a", "fix the parser", "looking", conversation="x", branch="main", task="1")
    return line.ask("b", "go on", "half done", parent="a", conversation="x", branch="main", task="2")


def summed_up(line: Line, name: str, how: str, answer: Any = ANSWER, **wanted: Any) -> None:
    """The summarising call of one generation of the client; the line itself stays as it was."""
    wanted = {"utility": "compaction", "kind": "utility"} | wanted
    other = line.copy()
    if how in ("2.0.42", "2.1.30"):
        other.system, other.tools = M2, None
        other.say(M1)
    elif how == "2.1.112":
        other.say(M3)
    else:
        other.messages.pop()
        other.messages[-1]["content"].append(text(M3))
    other.call(name, answer, **wanted)


def continued(line: Line, how: str, summary: str = LONG, carried: list[Any] | None = None) -> Line:
    other = line.copy(messages=[])
    said = f"Summary:\n{summary}\n"
    match how:
        case "2.0.42":
            other.say(text(f"{L}The conversation is summarized below:\nAnalysis:\nFirst this, then that.\n\n{said}."))
        case "2.0.42-auto":
            other.say(text(f"{L}The conversation is summarized below:\nAnalysis:\nFirst this, then that.\n\n{said}.\n{T1}"))
        case "2.1.30":
            other.say(text(f"{L}{BELOW}Analysis:\nFirst this, then that.\n\n{said}\n{T2}"))
        case "2.1.112":
            other.say(reminder(), text(f"{L}{BELOW}{said}\n{T2}"))
        case _:
            other.say(text(f"{L}{BELOW}<system-reminder>\nx\n</system-reminder>\n{said}\n{T2}"))
            for message in carried or [line.messages[-1]]:
                other.messages.append(message)
    return other


@pytest.mark.parametrize("session", ["", "s"])
@pytest.mark.parametrize("how", ["2.0.42", "2.1.30", "2.1.112", "2.1.325"])
def test_a_person_compacts(how: str, session: str) -> None:
    story = Story()
    line = begun(story, session=session)
    summed_up(line, "c", how, parent="b", branch="main", conversation="x", task="2")
    after = continued(line, how)
    behind = ["<local-command-caveat>x</local-command-caveat>", "<command-name>/compact</command-name>", "<local-command-stdout>Compacted</local-command-stdout>"]
    if how != "2.1.325":
        after.messages[0]["content"] += [text(words) for words in behind] + [text("now the tests")]
    else:
        after.say("now the tests")
    after.call("d", "tests are green", parent="c", branch="compact_1", conversation="x", task="3")
    after.ask("e", "and the docs", parent="d", branch="compact_1", conversation="x", task="4")
    fork = after.copy(messages=after.messages[:-2])
    fork.ask("f", "rather the site", parent="d", branch="branch_1", conversation="x")
    story.check()


@pytest.mark.parametrize("how", ["2.0.42-auto", "2.1.30", "2.1.112"])
def test_the_client_compacts_by_itself(how: str) -> None:
    story = Story()
    line = begun(story, session="s")
    summed_up(line, "c", how.removesuffix("-auto"), parent="b", branch="main", task="2")
    after = continued(line, how)
    after.call("d", "on it", parent="c", branch="compact_1", conversation="x", task="2")
    after.ask("e", "thanks", parent="d", branch="compact_1", task="3")
    story.check()


@pytest.mark.parametrize("session", ["", "s"])
def test_the_current_client_carries_its_last_tool_over(session: str) -> None:
    story = Story()
    line = begun(story, session=session)
    line.ask("c", "run it", use("toolu_1", command="make"), parent="b", branch="main", task="3")
    summed_up(line, "d", "2.1.325", parent="c", branch="main", task="3")
    after = continued(line, "2.1.325")
    after.ask("e", result("toolu_1", "it works"), "done", parent="d", branch="compact_1", conversation="x", task="3")
    after.ask("f", "good", parent="e", branch="compact_1", task="4")
    questions = story.check()
    assert questions.tool("toolu_1")["status"] == "ok"


def test_the_current_client_compacts_after_one_turn() -> None:
    """The last answer is left out: nothing of the model is in the request that asks for a summary."""
    story = Story()
    line = story.line(session="s")
    line.ask("a", "fix the parser", "looking", branch="main")
    summed_up(line, "b", "2.1.325", parent="a", branch="main")
    after = continued(line, "2.1.325")
    after.ask("c", "go on", parent="b", branch="compact_1", task="2")
    line.ask("d", "no, here", parent="a", branch="main")
    story.check()


def test_an_answer_without_tags_is_asked_for_again() -> None:
    story = Story()
    line = begun(story, session="s")
    summed_up(line, "c", "2.1.325", "I sum up: all is well with the parser", parent="b", branch="main")
    other = line.copy()
    other.messages.pop()
    other.messages[-1]["content"].append(text(M3 + "\n\nAnswer with a summary."))
    other.call("d", "I sum up: all is well with the parser", utility="compaction", parent="b", branch="main")
    after = line.copy(messages=[]).say(text(f"{L}{BELOW}I sum up: all is well with the parser\n{T2}"))
    after.messages.append(line.messages[-1])
    after.ask("e", "go on", parent="d", branch="compact_1", conversation="x")
    story.check()


@pytest.mark.parametrize("session", ["", "s"])
def test_a_short_summary_behind_a_thinking_block(session: str) -> None:
    story = Story()
    line = begun(story, session=session)
    summed_up(line, "c", "2.1.112", [thinking("well"), text("<summary>All is well.</summary>")], parent="b")
    continued(line, "2.1.112", "All is well.").ask("d", "go on", parent="c", branch="compact_1", conversation="x")
    story.check()


def test_equal_short_summaries_of_strangers_prove_nothing() -> None:
    story = Story()
    for name in ("a", "b"):
        line = story.line().ask(name, f"do {name}", f"did {name}", conversation=name)
        summed_up(line, f"sum-{name}", "2.1.112", "<summary>Done.</summary>", parent=name, conversation=name)
    continued(story.line(), "2.1.112", "Done.").ask("z", "go on", parent=None, conversation="z", branch="main")
    story.check()


def test_a_second_compaction() -> None:
    story = Story()
    line = begun(story, session="s")
    summed_up(line, "c", "2.1.325", parent="b", branch="main")
    after = continued(line, "2.1.325").ask("d", "go on", "three quarters", parent="c", branch="compact_1")
    summed_up(after, "e", "2.1.325", "<summary>Three quarters are done, says the model.</summary>", parent="d", branch="compact_1")
    last = continued(after, "2.1.325", "Three quarters are done, says the model.")
    last.ask("f", "finish", parent="e", branch="compact_2", conversation="x")
    last.ask("g", "good", parent="f", branch="compact_2", conversation="x")
    questions = story.check()
    names = {call["branch"] for call in questions.calls()["items"]}
    assert names == {"main", "compact_1", "compact_2"}


def test_words_that_are_quoted_are_no_compaction() -> None:
    story = Story()
    line = begun(story, session="s")
    summed_up(line, "c", "2.1.112", parent="b")
    story.line(session="s").ask("d", f"what does '{L}' mean?", parent=None, branch="branch_1", conversation="x")
    other = story.line(session="s").say("read this").say("ok", role="assistant")
    other.ask("e", f"{L}{BELOW}Summary:\n{LONG}", parent=None, conversation="x", branch="branch_2")
    machine = "This session is being continued from another machine. Summary:\n" + LONG
    story.line(session="s").ask("f", machine, parent=None, branch="branch_3", conversation="x")
    story.check()


def test_a_summary_that_nobody_wrote() -> None:
    story = Story()
    line = begun(story, session="s")
    summed_up(line, "c", "2.1.112", "", parent="b", http=529)
    summed_up(line, "d", "2.1.112", cut="content_block_delta", outcome="cut", parent="b")
    continued(line, "2.1.112").ask("e", "go on", parent="d", branch="compact_1", conversation="x")
    continued(story.line(), "2.1.112").ask("f", "go on", parent=None, branch="main", conversation="y")
    story.check()


def test_the_api_sums_up() -> None:
    story = Story()
    line = begun(story)
    block = {"type": "compaction", "content": "They fix a parser."}
    asking = line.copy().say("go on then")
    asking.call("c", block, body={"compaction": {"type": "summarize"}}, stop="compaction", keep=False, utility="compaction", parent="b")
    after = line.copy(messages=[{"role": "assistant", "content": [block]}])
    after.ask("d", "go on then", "yes", parent="c", branch="compact_1", conversation="x")
    after.ask("e", "more", parent="d", branch="compact_1", conversation="x")
    story.check()


def test_the_api_compacts_inside_an_answer() -> None:
    for stays in (True, False):
        story = Story()
        line = begun(story)
        block = {"type": "compaction", "content": "They fix a parser."}
        line.ask("c", "go on then", [block, text("on it")], parent="b", branch="main")
        if not stays:
            line.messages = line.messages[-1:]
        line.ask("d", "more", parent="c", conversation="x", branch="main" if stays else "compact_1")
        line.ask("e", "even more", parent="d", conversation="x", branch="main" if stays else "compact_1")
        story.check()


def test_a_sub_agent_is_compacted_and_stays_one() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "dig deep"), conversation="x", branch="main", task="1")
    child = story.line(session="s", agent="a1")
    child.ask("b", "dig deep", use("toolu_2", command="dig"), branch="subtask_1", task="sub", kind="subagent")
    summed_up(child, "c", "2.1.325", parent="b", branch="subtask_1", task="sub")
    after = continued(child, "2.1.325")
    after.ask("d", result("toolu_2", "gold"), "found", parent="c", branch="subtask_1", task="sub", conversation="x")
    main.ask("e", report("toolu_1", "a1"), parent="a", branch="main", task="1")
    story.subtask("b", by="a", via="toolu_1", sure=True)
    story.check()


def test_a_sub_agent_without_headers_is_compacted_and_stays_one() -> None:
    story = Story()
    main = story.line()
    main.ask("a", "go", agent("toolu_1", "dig deep"), conversation="x", branch="main", task="1")
    child = story.line()
    child.ask("b", "dig deep", use("toolu_2", command="dig"), branch="subtask_1", task="sub", kind="subagent")
    summed_up(child, "c", "2.1.112", parent="b", branch="subtask_1", task="sub")
    continued(child, "2.1.112").call("d", "found", parent="c", branch="subtask_1", task="sub", conversation="x")
    main.ask("e", report("toolu_1", words="found"), parent="a", branch="main", task="1")
    story.subtask("b", by="a", via="toolu_1", sure=False)
    story.check()


@pytest.mark.parametrize("carried", ["tool", "words"])
def test_equal_summaries_of_two_agents_are_told_apart_by_what_was_carried_over(carried: str) -> None:
    """Without headers, in one session, at the same time."""
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [agent("toolu_1", "look"), agent("toolu_2", "see")], branch="main", task="1")
    lines = {1: story.line(session="s").say("look"), 2: story.line(session="s").say("see")}
    for number, line in lines.items():
        said = use(f"toolu_1{number}", command="ls") if carried == "tool" else f"I am at step {number}"
        line.call(f"b{number}", said, overlap=True, branch=f"subtask_{number}", task=f"sub {number}")
    for number, line in lines.items():
        at = 10.0 + number
        summed_up(line, f"c{number}", "2.1.325", at=at, parent=f"b{number}", branch=f"subtask_{number}", task=f"sub {number}")
    for number in (2, 1):
        said = result(f"toolu_1{number}") if carried == "tool" else "go on"
        line = continued(lines[number], "2.1.325")
        line.ask(f"d{number}", said, "done", parent=f"c{number}", branch=f"subtask_{number}", task=f"sub {number}")
        story.subtask(f"b{number}", by="a", via=f"toolu_{number}")
    main.ask("e", [report("toolu_1"), report("toolu_2")], parent="a", branch="main", task="1")
    story.check(orders=24)


@pytest.mark.parametrize("how", ["2.0.42", "2.1.112", "2.1.325"])
@pytest.mark.parametrize("failed", [{"http": 529}, {"outcome": "aborted", "status": "aborted", "cut": "event: message_delta"}, {"outcome": ""}])
def test_how_a_summary_went_says_nothing_of_the_task(how: str, failed: dict[str, Any]) -> None:
    story = Story()
    line = begun(story, session="s")
    summed_up(line, "c", how, "" if "http" in failed else ANSWER, parent="b", branch="main", task="2", keep=False, **failed)
    questions = story.check(orders=6)
    [task] = [task for task in questions.tasks()["items"] if task["prompt"] == "go on"]
    assert (task["status"], task["flags"]) == ("completed", [])
    assert task["closed"] == next(call["closed"] for call in questions.calls(limit=0)["items"] if call["kind"] == "main" and call["task"] == task["id"])


def test_a_summary_alone_is_all_that_is_known_of_its_task() -> None:
    story = Story()
    line = story.line(session="s").say("fix it")
    line.messages += [{"role": "assistant", "content": [text("done")]}]
    summed_up(line, "c", "2.1.112", parent=None, branch="main", task="1")
    [task] = story.check(orders=3).tasks()["items"]
    assert (task["prompt"], task["status"]) == ("fix it", "completed")
