r"""Secrets in text that is written with escapes: `sk\u002dant…`, `a\/b`, `{\u0022password\u0022: …`.

Whoever writes JSON may escape any letter, and what reads it shows the letter. So such text is judged as it reads; where
nothing is found, and that is almost always, it keeps its bytes.
"""

import json
import re
from collections.abc import Callable

Redact = Callable[[bytes], bytes]

# Of letters that can be read as they are: those of a colour (`\u001b`) and of other alphabets (`\u00e9`) hide nothing.
LETTER = re.compile(rb"\\(?:/|u00(?:[2-7]|0[9ADad]))")
ESCAPE = re.compile(rb"(?<!\\)(\\++)(?:u00([2-7][0-9A-Fa-f]|0[9ADad])|/)")
PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z|\\\Z)|[^"]++', re.DOTALL)
"""A string, to the end where it is cut; or what stands between two."""
SLASH, BACKSLASH, QUOTE = b"/", b"\\", b'"'
SPACES = {b"\t": b"t", b"\r": b"r", b"\n": b"n"}
DEPTHS = 4  # how often a backslash may itself have been written as an escape


def is_escaped(raw: bytes) -> bool:
    """This runs over everything that is ever seen: one walk, from backslash to backslash."""
    return LETTER.search(raw) is not None


def through_escapes(raw: bytes, redact: Redact) -> bytes:
    """What `redact` leaves of a text as it reads. Strings with escapes come first: a part of a secret gives no rest away."""
    if not is_escaped(raw) or finds_nothing(folded(raw), redact):
        return redact(raw)
    clean = redact(PART.sub(lambda found: redact_part(found[0], redact), raw))
    plain = folded(clean)
    found = redact(plain)
    return clean if found == plain else found  # a word and its value in two strings: all of it as it reads


def finds_nothing(raw: bytes, redact: Redact) -> bool:
    return redact(raw) == raw


def folded(raw: bytes) -> bytes:
    """All letters as they read, however often the text was put into a string; a quote stays that of an inner string."""
    for _ in range(DEPTHS):
        before, raw = raw, ESCAPE.sub(letter, raw)
        if b"\\u005" not in before:
            break
    return raw


def letter(found: "re.Match[bytes]") -> bytes:
    if found[2] is None:
        return SLASH
    one = bytes.fromhex(found[2].decode())
    if one == QUOTE:
        return BACKSLASH * (2 * len(found[1]) - 1) + QUOTE
    if one == BACKSLASH:
        return found[1] * 2
    return found[1] + SPACES[one] if one in SPACES else one


def redact_part(written: bytes, redact: Redact) -> bytes:
    """One string of JSON, judged as it reads and written again only if it held something; or what is none."""
    if not is_escaped(written):
        return written
    try:
        plain = json.loads(written, strict=False).encode("utf-8", "surrogatepass")
    except ValueError:  # cut, or no JSON at all
        return redact_folded(written, redact)
    clean = through_escapes(plain, redact)
    return written if clean == plain else rewritten(clean)


def redact_folded(written: bytes, redact: Redact) -> bytes:
    plain = folded(written)
    clean = redact(plain)
    return written if clean == plain else clean


def rewritten(clean: bytes) -> bytes:
    text = clean.decode("utf-8", "surrogatepass")
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a character, which only an escape can write
        return json.dumps(text).encode()
