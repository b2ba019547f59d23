"""Nothing that a stream or a hook may contain makes the readers raise."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify.model.event import Unreadable
from ramify.protocols.claude.hooks import decode_hook
from ramify.protocols.claude.stream import decode_sdk, decode_stream
from tests.protocols.claude.lines import lines_of, record

relaxed = settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
DECODERS = {"stream-json": decode_stream, "sdk": decode_sdk, "claude-hook": decode_hook}
REAL = [
    *(("stream-json", line) for case in ("simple", "nested", "hooks") for line in lines_of(case, "stream.jsonl")),
    *(("sdk", line) for line in lines_of("background", "sdk_messages.jsonl")),
    *(("claude-hook", line) for line in lines_of("background", "sdk_hooks.jsonl")),
    *(("claude-hook", line) for line in lines_of("hooks", "hooks.jsonl")),
]
WORDS = st.sampled_from(["", "text", "tool_use", "tool_result", "a0123456789abcdef", "<task-notification>", "\ud83d"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value where another could stand."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], other)
    return copy


@relaxed
@given(st.sampled_from(REAL), st.data())
def test_any_value_may_stand_in_any_place(real: tuple[str, bytes], data: st.DataObject) -> None:
    form, line = real
    value = json.loads(line)
    for _ in range(data.draw(st.integers(1, 3))):
        value = put(value, data.draw(st.sampled_from(places(value))), data.draw(ANYTHING))
    body = json.dumps(value).encode()
    assert isinstance(DECODERS[form](record(body, form)), tuple)


@relaxed
@given(st.sampled_from(REAL), st.integers(0, 5000), st.binary(max_size=3))
def test_a_line_that_was_cut_or_damaged_is_unreadable_or_read(real: tuple[str, bytes], at: int, junk: bytes) -> None:
    form, line = real
    at = at % len(line)
    (cut,) = DECODERS[form](record(line[:at], form))
    assert isinstance(cut, Unreadable)
    assert isinstance(DECODERS[form](record(line[:at] + junk + line[at + len(junk) :], form)), tuple)


@relaxed
@given(
    st.sampled_from(sorted(DECODERS)), st.binary(max_size=60) | ANYTHING.map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_survived(form: str, body: bytes) -> None:
    assert isinstance(DECODERS[form](record(body, form)), tuple)


def test_a_deep_value_inside_a_message_is_survived() -> None:
    """Deep enough for each reader's own limit, whichever comes first."""
    for depth in (100, 300, 450, 600, 900):
        deep = '{"a":' * depth + "1" + "}" * depth
        body = (
            '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":%s}]}}'
        )
        events = decode_stream(record((body % deep).encode(), "stream-json"))
        assert events
