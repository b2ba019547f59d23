"""Which call a request goes on from, where the plain cases do not show it."""

import pytest

from tests.linking.world_builder import LOST, Story, reminder, result, text, thinking, use


def test_a_cut_answer_is_gone_on_from() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "tell me a tale", "Once upon a time there was a king", cut="message_delta", outcome="aborted", keep=False, status="aborted")
    line.say("Once upon a time", role="assistant")
    line.ask("b", "[Request interrupted by user]", "sorry", parent="a", branch="main", conversation="x")
    story.truth["a"] |= {"conversation": "x", "branch": "main"}
    story.check()


def test_an_unknown_answer_is_gone_on_from() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "one", LOST, status="aborted", conversation="x", branch="main")
    line.say("it is one", role="assistant")
    line.ask("b", "two", parent="a", conversation="x", branch="main")
    story.check()


def test_a_replaced_answer_is_gone_on_from() -> None:
    for words in ("No response requested.", "(no content)"):
        story = Story()
        line = story.line()
        line.ask("a", "one", "a long answer", keep=False, conversation="x", branch="main")
        line.say(words, role="assistant")
        line.ask("b", "two", parent="a", conversation="x", branch="main")
        story.check()


def test_queued_prompts_go_on_without_the_answer() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "one", "1")
    line.ask("b", "two", "2", keep=False, parent="a", branch="main")
    line.say("and three").say("and four")
    line.call("c", "34", parent="b", branch="main", conversation="x")
    story.truth["a"] |= {"conversation": "x", "branch": "main"}
    story.check()


def test_a_regenerated_answer_has_one_candidate() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "one", "first", keep=False, conversation="x")
    line.say("something else entirely", role="assistant")
    line.ask("b", "two", parent="a", conversation="x", branch="main")
    story.check()


def test_several_different_answers_leave_the_shorter_prefix() -> None:
    """Two twins asked the same, neither gave the answer that is there: their common ancestor did not either."""
    story = Story()
    line = story.line()
    line.ask("a", "one", "first", conversation="x")
    line.say("two")
    line.call("b", "left", parent="a", keep=False, overlap=True, took=3)
    line.call("c", "right", parent="a", keep=False, took=3, attempt_of=None)
    line.say("neither of them", role="assistant")
    line.ask("d", "three", parent="a", conversation="x")
    story.check()


def test_an_answer_with_another_tool_is_another_answer() -> None:
    """The same words before a tool call prove nothing: its id is in the history or it is not."""
    story = Story()
    for name, conversation in (("a", "x"), ("b", "y")):
        said = ["Let me see", use(f"toolu_{name}", command="ls")]
        story.line().ask(name, "look", said, overlap=True, took=2, conversation=conversation)
    third = story.line().say("look").say("Let me see", use("toolu_c", command="ls"), role="assistant")
    third.ask("d", result("toolu_c", "c"), "done", at=10, parent=None, conversation="z")
    story.check()


def test_three_lost_calls_leave_the_great_grandparent() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "one", "1", conversation="x")
    for word in ("two", "three", "four"):
        line.say(word).say(f"to {word}", role="assistant")
    line.ask("e", "five", "5", parent="a", branch="main", conversation="x")
    line.ask("f", "six", "6", parent="e", branch="main")
    story.check()


def test_a_lost_call_that_comes_late_takes_its_place() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "one", "1")
    line.ask("b", "two", "2", parent="a", branch="main")
    line.ask("c", "three", "3", parent="b", branch="main")
    line.ask("d", "four", "4", parent="c", branch="main")
    story.check(orders=24)


def test_a_tool_id_names_the_ancestor_when_words_were_rewritten() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "find it", use("toolu_1", command="find"), conversation="x")
    line.ask("b", result("toolu_1", "here"), use("toolu_2", command="cat"), parent="a")
    line.messages[0]["content"] = [text("find it (rewritten)")]
    line.ask("c", result("toolu_2", "text"), "found", parent="b", branch="main", conversation="x")
    story.check()


def test_a_paused_turn_is_sent_back_and_goes_on() -> None:
    story = Story()
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    line = story.line()
    line.ask("a", "search", ["looking", search], stop="pause_turn", conversation="x")
    line.call("b", [{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}, text("found")], parent="a", branch="main")
    line.ask("c", "thanks", parent="b", branch="main", conversation="x")
    story.check()


def test_a_prefilled_answer_comes_back_as_one_text() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "say json", "no", conversation="x", branch="main")
    line.say("json, I said").say('{"name":', role="assistant")
    line.call("b", ' "ramify"}', keep=False, parent="a", branch="main")
    line.messages[-1]["content"] = [text('{"name": "ramify"}')]
    line.ask("c", "good", parent="b", branch="main", conversation="x")
    story.check()


def test_doubled_tools_are_skipped_and_new_words_beside_them_count() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "go", use("toolu_1", command="ls"), conversation="x")
    line.ask("b", [result("toolu_1", "files"), "and?"], "so", parent="a", branch="main")
    line.messages[-1:] = [{"role": "assistant", "content": [use("toolu_1", command="ls"), text("so")]}]
    line.ask("c", [result("toolu_1", "files"), "and?", "what else?"], parent="b", branch="main", conversation="x")
    line.ask("d", "last", parent="c", branch="main")
    story.check()


def test_cleared_results_stand_for_what_they_were() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "go", use("toolu_1", command="ls"), conversation="x")
    line.ask("b", result("toolu_1", "files"), use("toolu_2", command="cat"), parent="a", branch="main")
    line.ask("c", result("toolu_2", [text("words")]), use("toolu_3", command="cat"), parent="b", branch="main")
    line.messages[2]["content"] = [result("toolu_1", "[Old tool result content cleared]")]
    line.ask("d", result("toolu_3", "end"), "so far", parent="c", branch="main")
    line.messages[4]["content"] = [result("toolu_2", [text("[Old tool result content cleared]")])]
    line.ask("e", "go on", parent="d", branch="main", conversation="x")
    story.check(orders=24)


def test_turns_of_reminders_alone_keep_the_chain() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "start", "started", conversation="x", task="one", branch="main")
    line.ask("b", reminder("an agent is done"), "noted", parent="a", task="one", branch="main")
    line.ask("c", reminder("another one is"), "noted too", parent="b", task="one", branch="main")
    line.ask("d", reminder("and a third"), "all done", parent="c", task="one", branch="main")
    line.ask("e", "thanks", parent="d", task="two", branch="main", conversation="x")
    story.check()


def test_turns_of_reminders_whose_answers_have_no_words() -> None:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "start", "started", task="one", branch="main")
    line.ask("b", reminder("an agent is done"), thinking(), parent="a", task="one", branch="main")
    line.ask("c", reminder("another one is"), thinking(), parent="b", task="one", branch="main")
    line.ask("d", "well?", parent="c", task="two", branch="main")
    story.check()


def test_a_thinking_answer_is_gone_on_from() -> None:
    story = Story()
    line = story.line()
    line.ask("a", "one", thinking(), conversation="x")
    line.ask("b", "two", [thinking(), text("2")], parent="a", branch="main")
    line.messages[-1]["content"] = [text("2")]
    line.ask("c", "three", parent="b", branch="main", conversation="x")
    story.check()


def test_unknown_blocks_and_pictures_count_by_their_content() -> None:
    def picture(word: str) -> dict[str, object]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": word}}

    story = Story()
    one, two = story.line(), story.line()
    one.ask("a", [picture("AAAA"), "what is it?"], "a cat", overlap=True, took=3, conversation="x")
    two.ask("b", [picture("BBBB"), "what is it?"], "a cat", overlap=True, took=3, conversation="y")
    one.ask("c", [{"type": "hologram", "of": {"b": 1, "a": 2}}, "and?"], parent="a", conversation="x")
    two.ask("d", [{"type": "hologram", "of": {"b": 2}}, "and?"], parent="b", conversation="y")
    one.messages[2]["content"][0] = {"of": {"a": 2, "b": 1}, "type": "hologram", "cache_control": {"type": "ephemeral"}}
    one.ask("e", "so?", parent="c", conversation="x", branch="main")
    story.check()


def test_equal_start_times_hide_no_parent() -> None:
    """Clocks of some recorders count whole seconds."""
    story = Story()
    line = story.line()
    line.ask("a", "one", "1", at=5, took=0, conversation="x")
    line.ask("b", "two", "2", at=5, took=0, parent="a", branch="main")
    line.ask("c", "three", "3", at=5, took=0, parent="b", branch="main")
    line.ask("d", "four", "4", at=5, took=0, parent="c", branch="main", conversation="x")
    story.check()


@pytest.mark.parametrize("names", ["abc", "bca", "cab"])
def test_of_calls_with_one_start_time_the_longest_is_the_last(names: str) -> None:
    """What the others asked for has come back by then: the task does not wait for it."""
    one, two, three = names
    story = Story()
    line = story.line(session="s")
    line.ask(one, "look", use("toolu_1"), at=5, took=0)
    line.ask(two, result("toolu_1"), use("toolu_2"), at=5, took=0, parent=one)
    line.ask(three, result("toolu_2"), "done", at=5, took=0, parent=two)
    (task,) = story.check().tasks()["items"]
    assert task["status"] == "completed"


def test_a_person_may_say_the_word_quota() -> None:
    story = Story()
    story.line().ask("a", "quota", utility=None, kind="main")
    story.line(tools=None).ask("b", "quota", body={"max_tokens": 1}, utility="quota", kind="utility")
    story.line(tools=None).ask("c", "quota", utility=None, at=50, kind="main")
    story.check()
