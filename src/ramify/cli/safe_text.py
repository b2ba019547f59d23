"""What agents, tools and wires said is hostile: made visible and harmless here before a terminal sees it."""

import json
import re
from typing import Any

from rich.text import Text

# C0, DEL and C1 steer the terminal; bidi controls and tags make text read as other than it is;
# separators break lines where we did not; lone surrogates cannot be written at all.
STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
SPACES = re.compile(r"[ \u00a0]{2,}")
CONTROL_PICTURES = 0x2400  # U+2400 is the picture of U+0000, and so on


def picture(found: re.Match[str]) -> str:
    point = ord(found.group())
    if point < 0x20:
        return chr(CONTROL_PICTURES + point)
    if point == 0x7F:
        return "\u2421"
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{{{point:x}}}"


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
