"""Which reader reads what."""

import json

import pytest

from ramify.model.event import MessageSaid, ToolCalled
from ramify.model.observation import Record
from ramify.protocols.claude.decode import decode
from tests.protocols.claude.lines import SESSION


@pytest.mark.parametrize(
    ("form", "line", "kinds"),
    [
        ("claude", {"type": "user", "message": {"content": "Hello."}}, [MessageSaid]),
        ("stream-json", {"type": "user", "message": {"content": "Hello."}, "isReplay": True}, [MessageSaid]),
        ("sdk", {"class": "UserMessage", "content": "Hello."}, [MessageSaid]),
        ("claude-hook", {"hook_event_name": "PreToolUse", "tool_use_id": "toolu_1", "tool_name": "Bash"}, [ToolCalled]),
        ("sam", {"type": "user", "message": {"content": "Hello."}}, []),
    ],
)
def test_the_format_chooses_the_reader(form: str, line: dict[str, object], kinds: list[type]) -> None:
    seen = Record("obs", "default", 1, "stream", form, f"{SESSION}.jsonl:1", json.dumps(line).encode())
    assert [type(event) for event in decode(seen)] == kinds
