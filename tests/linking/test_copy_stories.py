"""Forked sessions: their files begin with a copy of another's messages, whichever of the two is read first."""

import json
import random

from ramify.model.entity import Conversation
from ramify.model.ids import session_conversation_id
from ramify.model.observation import Record
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite
from tests import story
from tests.linking.session_builder import SECOND, Transcript, text, use

FIRST, SECOND_SESSION, THIRD = (f"{number}1111111-2222-4333-8444-555555555555" for number in (3, 2, 1))


def begun(session: str, after: Transcript | None = None) -> Transcript:
    told = Transcript(session)
    told.clock = after.clock + 60 * SECOND if after else told.clock
    told.raw(json.dumps({"type": "queue-operation", "operation": "enqueue", "sessionId": session}).encode())
    return told


def forked(origin: Transcript, session: str) -> Transcript:
    """The client writes the prompt down first, then copies the lines with their ids and times."""
    told = begun(session, origin)
    for seen in origin.seen[1:]:
        assert isinstance(seen, Record)
        if "subagents" not in seen.place:
            told.raw(seen.body.replace(origin.session.encode(), session.encode()), at=seen.at)
    return told


def asked(session: str = FIRST) -> Transcript:
    told = begun(session)
    told.prompt("Look around.")
    told.answer("msg_1", use("toolu_1", "Agent", description="Go", prompt="Count."), stop="tool_use")
    told.says("Count.", "a0123456789abcdef")
    told.answer("msg_2", text("Two."), agent="a0123456789abcdef")
    told.result("toolu_1", "Two.", note={"status": "completed", "prompt": "Count.", "agentId": "a0123456789abcdef"})
    told.answer("msg_3", text("There are two."))
    return told


def check(*told: Transcript) -> tuple[Sqlite, Questions]:
    seen = [(one,) for each in told for one in each.seen]
    store, questions = story.told(seen)
    for seed in range(12):
        mixed = [*seen, *seen]
        random.Random(seed).shuffle(mixed)
        other, _ = story.told(mixed, 1 + seed)
        assert story.row_differences(story.rows(store), story.rows(other)) == [], f"order {seed}"
    return store, questions


def conversation(store: Sqlite, session: str) -> Conversation:
    row = store.load("conversations", session_conversation_id("default", session))
    assert isinstance(row, Conversation)
    return row


def test_a_copied_history_is_told_once_in_the_session_that_it_comes_from() -> None:
    origin = asked()
    fork = forked(origin, SECOND_SESSION)
    fork.prompt("And now?")
    fork.answer("msg_4")
    store, questions = check(fork, origin)
    roots = questions.tasks(roots=True, limit=0)["items"]
    assert sorted(task["title"] for task in roots) == ["And now?", "Look around."]
    assert conversation(store, FIRST).calls == 3
    assert conversation(store, SECOND_SESSION).calls == 1
    assert [tool.session for tool in store.docs("tools")] == [FIRST]


def test_a_forked_session_began_with_its_first_sign_of_life() -> None:
    origin = asked()
    fork = forked(origin, SECOND_SESSION)
    fork.prompt("And now?")
    store, _ = check(origin, fork)
    assert conversation(store, SECOND_SESSION).opened == fork.seen[0].at
    assert conversation(store, FIRST).opened == origin.seen[0].at


def test_a_fork_of_a_fork_comes_from_the_fork() -> None:
    origin = asked()
    fork = forked(origin, SECOND_SESSION)
    fork.prompt("And now?")
    fork.answer("msg_4")
    again = forked(fork, THIRD)
    again.prompt("And then?")
    store, _ = check(again, fork, origin)
    assert conversation(store, SECOND_SESSION).forked_from == conversation(store, FIRST).id
    assert conversation(store, THIRD).forked_from == conversation(store, SECOND_SESSION).id
    assert conversation(store, FIRST).forked_from == ""


def test_a_copy_whose_original_nobody_has_stands_for_itself() -> None:
    fork = forked(asked(), SECOND_SESSION)
    fork.prompt("And now?")
    store, questions = check(fork)
    roots = questions.tasks(roots=True, limit=0)["items"]
    assert sorted(task["title"] for task in roots) == ["And now?", "Look around."]
    assert conversation(store, SECOND_SESSION).forked_from == ""


def test_what_only_one_of_two_forks_copied_stays_where_it_was_said() -> None:
    """The second fork was made before the origin went on."""
    origin = asked()
    early = forked(origin, THIRD)
    early.prompt("Elsewhere.")
    origin.prompt("Go on.")
    origin.answer("msg_5")
    late = forked(origin, SECOND_SESSION)
    store, questions = check(late, early, origin)
    assert {task["title"]: task["conversation"] for task in questions.tasks(roots=True, limit=0)["items"]} == {
        "Look around.": conversation(store, FIRST).id,
        "Go on.": conversation(store, FIRST).id,
        "Elsewhere.": conversation(store, THIRD).id,
    }
    assert conversation(store, SECOND_SESSION).calls == 0
