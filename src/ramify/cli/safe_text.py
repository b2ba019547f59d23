"""What agents, tools and wires said is hostile: made visible and harmless here before a terminal sees it."""

import json
import re
from typing import Any

from rich.text import Text

from ramify.model.steering import STEERING, picture

SPACES = re.compile(r"[ \u00a0]{2,}")


def paragraphs(text: str) -> str:
    """Line breaks and tabs keep their meaning; every other control character becomes a picture of itself."""
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(STEERING.sub(picture, line) for line in lines)


def one_line(text: object) -> str:
    """The same on one line: breaks and runs of white space become one space."""
    flat = re.sub(r"[\t\n\r]+", " ", str(text))
    return SPACES.sub(" ", STEERING.sub(picture, flat)).strip()


def safe(text: object, style: str = "") -> Text:
    """One line as Rich text: never markup, never wrapped."""
    return Text(one_line(text), style=style, no_wrap=True, overflow="ellipsis", end="")


def cut(text: str, width: int) -> str:
    """At most `width` columns of a terminal, with an ellipsis where something is missing."""
    if width <= 0:
        return ""
    shortened = Text(text, no_wrap=True)
    shortened.truncate(width, overflow="ellipsis")
    return shortened.plain


def as_json(document: Any, indent: int | None = None) -> str:
    """One JSON document. JSON itself escapes only C0: what else steers a terminal is escaped here."""
    written = json.dumps(document, ensure_ascii=False, indent=indent, default=str)
    return STEERING.sub(escape, written)


def escape(found: re.Match[str]) -> str:
    if found.group() == "\n":  # the only one that JSON's own layout writes; inside texts it is escaped already
        return "\n"
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
