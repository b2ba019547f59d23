r"""Secrets that only their name gives away: `"password": "hunter2"`, in JSON and in JSON inside JSON strings.

A quote of JSON that was put into a string n times has 2**n - 1 backslashes before it. Name and value of one
pair share that number, so it tells where the value ends, without parsing anything around it.
"""

import re
from collections.abc import Iterator

from ramify.capture.secret_shapes import mark

MARK = mark("secret")
ANY_MARK = re.compile(rb"\[redacted(?::[a-z-]+)?\]")

NAME = re.compile(
    rb"(?:[\w.-]*(?:password|passwd|passphrase|secret|api[_-]?key|private[_-]?key|access[_-]?key|secret[_-]?key"
    rb"|(?:access|refresh|id|session|auth|bearer|bot|security|api|csrf|xsrf)[_-]?token|credentials?"
    rb"|authorization)|pwd|(?:[\w.-]*[_.-])?pass(?:code)?|token|(?:set-)?cookies?)",
    re.IGNORECASE,
)

# The colon after a name that may end like one of the above, before a string. First one character to look for
# (`re` is fast at that), then what is before it, step by step; the name is read only where all of it fits,
# because this runs over everything that is ever seen.
GAP = rb"(?:\s|\\+[nrt])*+"
LAST = rb"(?:[osparkiOSPARKI][rwseaiRWSEAI][detynlDETYNL]|[aierAIER][leydnLEYDN][sS]|[lL][uU][eE]|[iI][oO][nN])"
ION, AUTHORIZATION = rb"[iI][oO][nN]", rb"[zZ][aA][tT][iI][oO][nN]"


def name_ends(tail: bytes) -> bytes:
    """By one look back where it does not, as almost always; another one tells `authorization` from all that end like it."""
    return rb"(?<=" + LAST + tail + rb":)(?:(?<!" + ION + tail + rb":)|(?<=" + AUTHORIZATION + tail + rb":))"


# `key` alone is no secret's name, and stands before every attribute of a span. Tokens are in lists; elsewhere they are counted.
PAIR = re.compile(
    rb':(?:(?<=[^\\]":)' + name_ends(rb'"')
    + rb'|(?<=\\":|" :)(?:(?<=\\":)(?:' + name_ends(rb'\\"') + rb"|" + name_ends(rb'\\\\\\"')
    + rb')|(?<=" :)(?:' + name_ends(rb'" ') + rb"|" + name_ends(rb'\\" ')
    + rb')))(?<!"key":)(?<!"key\\":)(?:(?<![nN][sS]":)|(?=\s*+\[))' + GAP + rb'(?:(\\*+)"|\[(?=' + GAP + rb'\\*+")|\{(?=' + GAP + rb'\\*+"(?:value|secret|data|plain))|\d(?=\d{3}))'
)  # fmt: skip
VALUE_END = re.compile(rb'\\++["nr]?|["\n\r]')  # a run of backslashes before anything else is passed over as a whole
LONGEST_NAME = 80
MANY = re.compile(
    rb"[\w.-]*(?:passwords|passphrases|(?:api|private|access|secret)[_-]?keys|(?:access|refresh|session|auth|bearer|bot|api)[_-]?tokens)", re.IGNORECASE
)
"""Names of lists of secrets; those of counts, of names and of what a text is cut into are none of them."""
DIGITS = re.compile(rb"\d{4,64}(?=\s*[,}\]\\])")
NUMBERED = re.compile(rb"[\w.-]*(?:password|passwd|passphrase)|pwd", re.IGNORECASE)
HELD = re.compile(rb"\{" + GAP + rb'(\\*+)"(?:value|secret|data|plaintext)\\*+"\s*:\s*\\*+"')
MEMBER = re.compile(rb'[\[,](?:\s|\\+[nrt])*+(\\*+)"')
CLOSING = re.compile(rb'\\*+"')
# What a list of settings says before a value: `{"name": "API_KEY", "value": …`. It is tried at the end of what stands there.
FEW = rb"(?:\s|\\{1,15}[nrt]){0,40}"
SETTING = re.compile(rb'"(?i:name|key|variable)\\*+"\s{0,9}:\s{0,9}\\*+"([^"\\]{1,80})\\*+"\s{0,9},' + FEW + rb"\\{0,15}\Z")
SETTING_AFTER = re.compile(rb'\\*+"' + GAP + rb"," + GAP + rb'\\*+"(?i:name|key|variable)\\*+"\s{0,9}:\s{0,9}\\*+"([^"\\]{1,80})\\*+"')
VARIABLE = re.compile(rb"[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD)")


def name_before(text: bytes, quote: int, depth: int) -> bytes:
    """The name whose closing quote is at `quote`, with `depth` backslashes before it."""
    end = quote - depth
    opening = text.rfind(b'"', max(0, end - LONGEST_NAME), end)
    return b"" if opening < 0 else text[opening + 1 : end]


def value_end(text: bytes, start: int, depth: int) -> int:
    """Where the string that began at `start` ends; a broken one ends with its line or what is around it."""
    unit = depth + 1
    for match in VALUE_END.finditer(text, start):
        run = match.end() - match.start() - 1
        last = text[match.end() - 1 : match.end()]
        if last == b"\\":
            continue
        if last == b'"' and (run < depth or run % (2 * unit) == depth):
            return match.start() + max(0, run - depth)
        if last != b'"' and (run == 0 or (depth and run % unit == unit // 2)):
            return match.start()
    return len(text)


def backslashes_before(text: bytes, at: int) -> int:
    start = at
    while start and text[start - 1] == 0x5C:
        start -= 1
    return at - start


def secret_values(text: bytes) -> Iterator[tuple[int, int]]:
    """Where the values of secret names stand; those that are no strings with all that is written of them."""
    reached = 0
    for match in PAIR.finditer(text):
        if match.start() < reached:
            continue
        quote = text.rfind(b'"', 0, match.start())
        depth = backslashes_before(text, quote)
        name = name_before(text, quote, depth)
        if match[1] is None:
            for start, end in values_in(text, match.end() - 1, depth, name):
                reached = end
                yield start, end
        elif depth == len(match[1]) and (NAME.fullmatch(name) or is_setting(text, quote, depth, name, match.end())):
            reached = value_end(text, match.end(), depth)
            if reached > match.end() and not ANY_MARK.fullmatch(text, match.end(), reached):
                yield match.end(), reached


def is_setting(text: bytes, quote: int, depth: int, name: bytes, value: int) -> bool:
    """What a value belongs to stands before it or behind it."""
    if name.lower() != b"value":
        return False
    opening = quote - depth - len(name) - 1
    found = SETTING.search(text, max(0, opening - 160), opening) or SETTING_AFTER.match(text, value_end(text, value, depth))
    return found is not None and bool(NAME.fullmatch(found[1]) or VARIABLE.fullmatch(found[1]))


def values_in(text: bytes, at: int, depth: int, name: bytes) -> Iterator[tuple[int, int]]:
    """Of a list, of an object that holds but one value, and a number."""
    match text[at : at + 1]:
        case b"[" if MANY.fullmatch(name):
            yield from members_of(text, at, depth)
        case b"{" if NAME.fullmatch(name):
            found = HELD.match(text, at)
            if found and len(found[1]) == depth:
                end = value_end(text, found.end(), depth)
                if end > found.end() and not ANY_MARK.fullmatch(text, found.end(), end):
                    yield found.end(), end
        case b"[" | b"{":
            pass
        case _ if NUMBERED.fullmatch(name) and (digits := DIGITS.match(text, at)):
            yield digits.span()


def members_of(text: bytes, at: int, depth: int) -> Iterator[tuple[int, int]]:
    while (found := MEMBER.match(text, at)) and len(found[1]) == depth:
        end = value_end(text, found.end(), depth)
        if end > found.end() and not ANY_MARK.fullmatch(text, found.end(), end):
            yield found.end(), end
        closing = CLOSING.match(text, end)
        at = closing.end() if closing else len(text)


def in_quotes(text: bytes, start: int) -> bytes:
    """A mark in place of a number, with quotes as deep as those of its name."""
    quote = text.rfind(b'"', 0, start)
    around = text[quote - backslashes_before(text, quote) : quote + 1]
    return around + MARK + around


def redact_named(text: bytes) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end in secret_values(text):
        mark = MARK if text[start - 1 : start] == b'"' else in_quotes(text, start)
        pieces += (text[done:start], mark)
        done = end
    return text if not done else b"".join((*pieces, text[done:]))
