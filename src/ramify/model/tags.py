"""What stands between an opening and a closing tag in a text. A pattern with `.*?` would begin anew at every opening that is
never closed, which takes the square of the text; this walks through it once."""

import re
from collections.abc import Iterator

Span = tuple[int, int, int, int]


def tag_pattern(name: str, flags: int = 0) -> "re.Pattern[str]":
    return re.compile(rf"<(/?){name}>", flags)


def tagged(tag: "re.Pattern[str]", text: str) -> Iterator[Span]:
    """Where each begins, its content begins, that ends, and all of it ends. The first closing tag closes."""
    opened: tuple[int, int] | None = None
    for found in tag.finditer(text):
        if found[1] and opened is not None:
            yield *opened, found.start(), found.end()
            opened = None
        elif not found[1] and opened is None:
            opened = found.span()


def contents(tag: "re.Pattern[str]", text: str) -> list[str]:
    return [text[start:end] for _, start, end, _ in tagged(tag, text)]


def without(tag: "re.Pattern[str]", text: str, instead: str = "") -> str:
    pieces: list[str] = []
    done = 0
    for start, _, _, end in tagged(tag, text):
        pieces += (text[done:start], instead)
        done = end
    return "".join((*pieces, text[done:])) if done else text


def without_and_space_before(tag: "re.Pattern[str]", text: str, instead: str = "") -> str:
    pieces: list[str] = []
    done = 0
    for start, _, _, end in tagged(tag, text):
        pieces += (text[done:start].rstrip(), instead)
        done = end
    return "".join((*pieces, text[done:])) if done else text
