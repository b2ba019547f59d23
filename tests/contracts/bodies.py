"""Bodies as clients write them, and as nobody should: each list is one line of conversation."""

import gzip
import json
from typing import Any

from hypothesis import strategies as some

LONG = "The quick brown fox \"jumps\" \\ over\r\n the lazy dog. \u00e9\u2603\U0001f600 " * 6
texts = some.one_of(some.text(max_size=30), some.integers(0, 5).map(lambda number: f"{number} {LONG}"))
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MARK = {"type": "ephemeral"}


@some.composite
def messages(draw: some.DrawFn) -> dict[str, Any]:
    words = draw(texts)
    blocks: Any = draw(
        some.sampled_from(
            [
                words,
                [{"type": "text", "text": words}],
                [{"type": "text", "text": words, "cache_control": MARK}],
                [{"type": "tool_result", "tool_use_id": "toolu_1", "content": words}],
                [{"type": "tool_use", "id": "toolu_1", "name": "Task", "input": {"prompt": words}}],
                [{"type": "text", "text": "a", "cache_control": MARK}, {"type": "text", "text": words, "cache_control": MARK}],
            ]
        )
    )
    return {"role": draw(some.sampled_from(["user", "assistant"])), "content": blocks}


@some.composite
def growing(draw: some.DrawFn) -> list[bytes]:
    """Mostly one message more; sometimes one is changed, cut off, or written in another way."""
    said: list[dict[str, Any]] = draw(some.lists(messages(), min_size=1, max_size=3))
    shape = draw(shapes)
    found: list[bytes] = []
    for _ in range(draw(some.integers(2, 6))):
        match draw(some.sampled_from(["more", "more", "more", "mark", "edit", "back", "shape"])):
            case "more":
                said = [*said, *draw(some.lists(messages(), min_size=1, max_size=2))]
            case "mark":
                said = [*said[:-1], marked(said[-1])]
            case "edit":
                at = draw(some.integers(0, len(said) - 1))
                said = [*said[:at], draw(messages()), *said[at + 1 :]]
            case "back":
                said = said[: max(1, len(said) - 2)]
            case "shape":
                shape = draw(shapes)
        found.append(written(said, **shape))
    return found


def marked(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content, "cache_control": MARK}]}
    return {**message, "content": [{name: value for name, value in block.items() if name != "cache_control"} for block in content]}


shapes = some.fixed_dictionaries(
    {
        "system": some.sampled_from(["", "before", "after", "both"]),
        "doubled": some.sampled_from(["", "", "", "first", "last"]),
        "spaced": some.sampled_from([(",", ":"), (", ", ": ")]),
        "indent": some.sampled_from([None, None, None, 1]),
        "ascii": some.booleans(),
    }
)


def written(said: list[dict[str, Any]], system: str, doubled: str, spaced: tuple[str, str], indent: int | None, ascii: bool) -> bytes:
    def dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=ascii, separators=spaced, indent=indent)

    prompt, fields = f'"system":{dump(LONG * 2)}', [f'"messages":{dump(said)}']
    if system in ("before", "both"):
        fields.insert(0, prompt)
    if system in ("after", "both"):
        fields.append(prompt)
    if doubled:
        fields.insert(0 if doubled == "first" else len(fields), f'"messages":{dump(said[:1])}')
    text = "{" + ",".join([*fields, '"model":"claude-opus-4-5"', '"max_tokens":9']) + "}"
    return (text.replace("\n", "\r\n") if indent else text).encode("utf-8", "surrogatepass")


@some.composite
def broken(draw: some.DrawFn) -> list[bytes]:
    bodies = draw(growing())
    return [
        draw(some.sampled_from([body[: len(body) // 2], body[:-1], body + b" ", b"\xff" + body, body.replace(b"a", b"\xc3", 1)]))
        for body in bodies
    ]


anything = some.one_of(
    growing(),
    growing(),
    broken(),
    growing().map(lambda bodies: [gzip.compress(body, mtime=0) for body in bodies]),
    some.lists(some.binary(max_size=400), min_size=1, max_size=4),
    some.lists(JSON.map(lambda value: json.dumps(value).encode()), min_size=1, max_size=4),
)
