"""Attachments: which are messages, and whose."""

from typing import Any

import pytest

from ramify.model.event import MessageSaid, TaskMoved, TaskReferred
from tests.protocols.claude.lines import AGENT, of, only
from tests.protocols.claude.transcripts import attachment, decode

NOTICE = f"<task-notification>\n<task-id>{AGENT}</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n"
NOTICE += "<status>completed</status>\n</task-notification>"
SHOWN: dict[str, Any] = {
    "rendered": [{"content": "<system-reminder>\nWords.\n</system-reminder>"}],
    "renderedRole": "system",
}


@pytest.mark.parametrize(
    ("fields", "author", "kind", "agent"),
    [
        ({"commandMode": "prompt"}, "human", "", ""),
        ({"commandMode": "prompt", "origin": {"kind": "human"}}, "human", "", ""),
        ({"commandMode": "prompt", "origin": {"kind": "peer", "senderTaskId": "a2"}}, "agent", "", "a2"),
        ({"origin": {"kind": "coordinator"}, "isMeta": True}, "agent", "", ""),
        ({"commandMode": "task-notification"}, "harness", "notification", ""),
        ({"commandMode": "something-new"}, "", "", ""),
        ({}, "", "", ""),
    ],
)
def test_a_queued_command_joined_a_turn_and_says_who_sent_it(
    fields: dict[str, Any], author: str, kind: str, agent: str
) -> None:
    said = only(decode(attachment({"type": "queued_command", "prompt": "Also this.", **fields}, **SHOWN)), MessageSaid)
    assert (said.hint.author, said.hint.kind, said.hint.agent) == (author, kind, agent)
    assert said.hint.during_turn
    assert (said.part.role, said.blocks) == ("system", ({"type": "text", "text": "Also this."},))


def test_a_queued_command_may_be_blocks() -> None:
    blocks = [{"type": "text", "text": "See."}, {"type": "image", "source": {}}]
    said = only(decode(attachment({"type": "queued_command", "prompt": blocks, "commandMode": "prompt"})), MessageSaid)
    assert (said.part.role, list(said.blocks)) == ("user", blocks)


def test_a_notification_that_joined_a_turn_tells_of_its_agent() -> None:
    events = decode(attachment({"type": "queued_command", "prompt": NOTICE, "commandMode": "task-notification"}))
    assert (only(events, TaskReferred).scope.agent, only(events, TaskReferred).tool) == (AGENT, "toolu_1")
    assert only(events, TaskMoved).status == "completed"


def test_a_person_who_quotes_a_notification_tells_nothing() -> None:
    events = decode(attachment({"type": "queued_command", "prompt": NOTICE, "commandMode": "prompt"}))
    assert (of(events, TaskReferred), of(events, TaskMoved)) == ([], [])


@pytest.mark.parametrize("kind", ["environment", "date", "skill_listing", "something_new"])
def test_what_the_client_showed_the_model_is_a_reminder(kind: str) -> None:
    said = only(decode(attachment({"type": kind}, **SHOWN)), MessageSaid)
    assert (said.hint.author, said.hint.kind, said.part.role) == ("harness", "reminder", "system")
    assert said.blocks[0]["text"].startswith("<system-reminder>")


@pytest.mark.parametrize(
    ("fields", "more", "words"),
    [
        ({"type": "hook_additional_context", "content": ["One.", "Two."]}, {}, ["One.", "Two."]),
        ({"type": "hook_success", "content": "Said.", "stdout": "{}"}, {}, ["Said."]),
        ({"type": "hook_blocking_error", "blockingError": {"blockingError": "No.", "command": "x"}}, {}, ["No."]),
        ({"type": "hook_success", "content": "", "stdout": "printed"}, {}, []),
        ({"type": "hook_success", "content": "Said."}, {"rendered": [{"content": "Shown."}]}, ["Shown."]),
    ],
)
def test_a_hooks_words_are_the_hooks(fields: dict[str, Any], more: dict[str, Any], words: list[str]) -> None:
    events = of(decode(attachment(fields, **more)), MessageSaid)
    assert [block["text"] for said in events for block in said.blocks] == words
    assert {(said.hint.author, said.hint.kind) for said in events} <= {("harness", "hook")}


@pytest.mark.parametrize(
    "line",
    [
        attachment({"type": "session_context", "context": {}}),
        attachment({"type": "prompt_snapshot", "systemPrompt": ["x"]}, **SHOWN),
        attachment({"type": "date"}, rendered=[]),
        attachment({"type": "date"}, rendered="x"),
        attachment({"type": "queued_command", "prompt": None}),
        {"type": "attachment", "attachment": None},
        {"type": "attachment", "attachment": [1]},
    ],
)
def test_notes_to_itself_are_no_messages(line: dict[str, Any]) -> None:
    assert decode(line) == ()
