"""The words of a query as PostgreSQL reads them: what stands in texts, quoted names and comments is told apart as the server does it.

Whoever takes a comment for a text, or a quoted name for a comment, can be led past a name that may not be used.
"""

import re
from collections.abc import Iterator

from ramify.model.mistake import UserMistake

PART = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<comment>/\*)
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")+")
    |(?P<word>[^\W\d][\w$]*)
    |(?P<dollar>\$(?:[^\W\d]\w*)?\$)
    |(?P<number>\$?\d+)
    |(?P<sign>[^\s"'])""",
    re.VERBOSE,
)
COMMENT = re.compile(r"/\*|\*/")


def words(query: str) -> list[str]:
    """Names in the spelling by which the server looks for them, and signs; a text is ''."""
    found: list[str] = []
    at = 0
    while at < len(query):
        part = PART.match(query, at)
        if part is None:
            raise UserMistake("a quotation mark has no end", "close it, and ask again")
        at = part.end()
        match part.lastgroup:
            case "comment":
                at = end_of_comment(query, at)
            case "dollar":
                at = end_of_text(query, at, part[0])
                found.append("''")
            case "text" | "name":
                check_escapes(found, query[max(0, part.start() - 1) : part.start()])  # not all of it: there may be many
                found.append("''" if part.lastgroup == "text" else part[0][1:-1].replace('""', '"'))
            case "word":
                found.append(part[0].lower())
            case "space":
                pass
            case _:
                found.append(part[0])
    return found


def check_escapes(before: list[str], query: str) -> None:
    """Directly before a quotation mark they change where the text ends."""
    if query[-1:] in ("e", "E", "&") and (before[-1:] == ["e"] or before[-2:] == ["u", "&"]):
        raise UserMistake("a text or name with escapes (E'…', U&'…') may not be used here", "write the characters themselves")


def end_of_comment(query: str, at: int) -> int:
    """Comments of PostgreSQL stand inside each other."""
    depth = 1
    for mark in COMMENT.finditer(query, at):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    raise UserMistake("a comment has no end", "close it, and ask again")


def end_of_text(query: str, at: int, mark: str) -> int:
    end = query.find(mark, at)
    if end < 0:
        raise UserMistake(f"the text that begins with {mark} has no end", "close it, and ask again")
    return end + len(mark)


def qualified(found: list[str]) -> Iterator[tuple[str, str, bool]]:
    """What stands before a dot, what behind it, and whether that is called."""
    for at in range(1, len(found) - 1):
        if found[at] == ".":
            yield found[at - 1], found[at + 1], found[at + 2 : at + 3] == ["("]
