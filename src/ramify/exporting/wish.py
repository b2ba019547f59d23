"""What somebody wants to pass on, and what is to be left out of it."""

from typing import Any

import msgspec
from msgspec import Struct

from ramify.capture.redact import redact_json
from ramify.model.mistake import UserMistake

LEFT_OUT = "[left out of this export]"


class Format(Struct, frozen=True):
    ending: str
    kind: str  # of media
    parted: bool  # whether something can be left out of it


FORMATS = {
    "html": Format("html", "text/html", True),
    "markdown": Format("md", "text/markdown", True),
    "jsonl": Format("jsonl", "application/x-ndjson", False),
    "otlp": Format("otlp.jsonl", "application/x-ndjson", False),
    "parquet": Format("parquet.zip", "application/zip", False),
}


CONTENTS = {
    "html": ("the tree with every link", "prompts, answers and reasoning", "what tools were given and gave back", "artifacts", "tokens and cost"),
    "markdown": ("the tree", "prompts, answers and reasoning", "what tools were given and gave back", "artifacts", "tokens and cost"),
    "jsonl": ("everything that was seen of its conversations, as it was seen", "people's corrections"),
    "otlp": ("tasks, model calls and tool calls with times, names and ids", "tokens and cost"),
    "parquet": ("a table for each view", "prompts and titles", "links", "tokens and cost"),
}
"""What kinds of things are in each; what is left out of them is said beside."""


class Wish(Struct, frozen=True):
    """`results` of tools and `bodies` as they were on the wire concern what people read; `content` concerns spans."""

    to: str
    results: bool = True
    bodies: bool = False
    content: bool = False


def checked(wish: Wish) -> Wish:
    if wish.to not in FORMATS:
        raise UserMistake(f"there is no export as {wish.to!r}", f"it can be one of {', '.join(FORMATS)}")
    if not wish.results and not FORMATS[wish.to].parted:
        raise UserMistake(f"results cannot be left out of {wish.to}", "it holds everything or none of it; html and markdown can be cut")
    if wish.bodies and wish.to != "html":
        raise UserMistake(f"bodies are not shown in {wish.to}", "jsonl holds them always, html when asked to")
    if wish.content and wish.to != "otlp":
        raise UserMistake(f"content is no question for {wish.to}", "it concerns spans, --to otlp")
    return wish


def left_out(wish: Wish) -> list[str]:
    found = {
        "what tools gave back": FORMATS[wish.to].parted and not wish.results,
        "requests and answers as they were on the wire": wish.to == "markdown" or (wish.to == "html" and not wish.bodies),
        "what was said": wish.to == "otlp" and not wish.content,
        "answers, and what tools were given and gave back": wish.to == "parquet",
    }
    return [words for words, holds in found.items() if holds]


def cleaned(value: Any) -> Any:
    """Without what counts as a secret today: the rules may have learned since it was stored."""
    raw = msgspec.json.encode(value)
    clean = redact_json(raw)
    return value if clean == raw else msgspec.json.decode(clean)


def without_results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**message, "blocks": [_emptied(block) for block in message["blocks"]]} for message in messages]


def _emptied(block: Any) -> Any:
    """Of client tools, and of those that the server of the model ran."""
    if isinstance(block, dict) and "tool_use_id" in block:
        return {**{name: block[name] for name in ("type", "tool_use_id", "is_error") if name in block}, "content": LEFT_OUT}
    return block
