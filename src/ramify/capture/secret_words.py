r"""Secrets that a word beside them gives away, in any language of programs and people: `token = "…"`, `--password …`.

A word alone proves little, so a value must look drawn by lot as well, and the further it stands from being an assignment the
more. This runs over everything that is ever seen: words are looked for by a rare letter or by `bytes.find`, one cheap walk each.
"""

import re
from collections.abc import Callable
from operator import itemgetter
from typing import NamedTuple

VALUE = rb"[^\s\"'`\\,;&|<>(){}\[\]$]"
ASSIGNED = re.compile(
    rb"(?i:_?(?:base|value|data))?\\*[\"'`\])*]{0,3}[ \t]*(?:=>|:=|=|:|\||%3[dDaA])\*{0,2}[ \t]*(?:[|>][+-]?(?:\n|\\+n)?[ \t]+)?\\*[\"'`]?(?:s%3A)?(" + VALUE + rb"{8,256})(\(?)"
)
"""With what programs and people put between a name and its value: in code, in lists of settings, in Markdown, in addresses."""
QUOTED = re.compile(rb"\\*[\"']?,?[ \t]{1,9}\\*[\"'](" + VALUE + rb"{8,256})(?=\\*[\"'])()")
"""Behind a name, with nothing but a space or a comma between: SQL, macros."""
ARGUMENT = re.compile(
    rb'\\*+"(?:\s{0,9}\}\s{0,9},\s{0,9}\{\s{0,9}\\*+"stringValue\\*+"\s{0,9}:|\s{0,9},)\s{0,9}\\*+"(' + VALUE + rb'{8,256})(?=\\*+")()'
)
FLAG = re.compile(rb'"--?[\w-]{0,40}\Z')
"""A command in a list of its words: `"--token", "…"`; also as attributes of spans have it."""
APART = re.compile(rb"(?: is| was| lautet| ist| est|:)?:? \\*[\"'`]?(" + VALUE + rb"{10,256})(\(?)")
REST = re.compile(VALUE + rb"*+")
"""Of a longer value the beginning is judged, so that no text can make this slow."""
COOKIES = re.compile(rb"[ \t]*:[ \t]*(?=[^\s=;:\"']{1,80}=)([^\r\n\"'\\]{8,})")
"""Names and values of all of them; the attributes of one that is being set go along."""
BREAK = rb"(?:\r?\n|\\+r\\+n|\\+n)"
FORM = re.compile(rb'\\*+"' + BREAK + rb"(?:[Cc]ontent-[^\r\n\"\\]{1,200}" + BREAK + rb")?" + BREAK + rb'([^\r\n"\\]{4,4096})')
FORM_NAME = re.compile(rb'name=\\*+"[\w.-]{0,40}\Z')
"""A field of a form in parts: `name="api_key"`, a blank line, the value."""
TAG = re.compile(rb">([^<>\s\"\\]{4,256})<")
TAG_NAME = re.compile(rb"<[\w:.-]{0,40}\Z")
ATTRIBUTE = re.compile(rb'\\*+"[ \t][^<>\n]{0,60}?(?:value|content)=\\*+"([^"\\<>\s]{4,256})')
ATTRIBUTE_NAME = re.compile(rb'(?:name|key|id)=\\*+"[\w.-]{0,40}\Z')
"""An element that has a name and a value as attributes: a field of a page, a setting."""
ACCOUNT = re.compile(rb"login(?:\s|\\+n)+\S{1,64}(?:\s|\\+n)+\Z")
"""What stands before the password in a file of logins (`.netrc`), where any word is one."""
WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
SEPARATORS = re.compile(rb"[^A-Za-z0-9]")
MARK = re.compile(rb"\[?redacted\b")
PLAIN_TOKENS = (b"page", b"next", b"progress", b"continuation", b"cancellation", b"sync", b"max", b"stop", b"cursor")
KEYS = (
    b"api", b"access", b"secret", b"private", b"account", b"shared", b"subscription", b"application", b"encryption", b"signing",
    b"master", b"service", b"admin", b"app", b"auth", b"license", b"functions", b"session", b"client", b"deploy", b"host",
    b"write", b"hmac", b"webhook", b"bot", b"server", b"ingest", b"root", b"jwt",
)  # fmt: skip
"""A key of these is secret; others are those of tables, caches and keyboards."""
LOOKED_BACK = 14
RUN = 3.2
"""Letters of one kind in a row: a bit more than two by chance, four and more in names made of words."""


NUMBERS = 3
"""Names made of words have one or two."""


class Word(NamedTuple):
    """One kind of word: where it may begin, in small letters, what must stand before that, and what takes a value's place. `short`
    judges what has fewer letters than a key has; None: nothing so short is one."""

    begins: "re.Pattern[bytes]"
    before: "re.Pattern[bytes]"
    kind: str
    mark: bytes
    short: "Callable[[bytes], bool] | None" = None


def word(begins: bytes, before: bytes, kind: bytes, short: "Callable[[bytes], bool] | None" = None) -> Word:
    return Word(re.compile(begins), re.compile(before + rb"\Z"), kind.decode(), b"[redacted:" + kind + b"]", short)


def mixed(value: bytes) -> bool:
    """A short password: a letter and a digit, and no name of a variable or a file."""
    return any(map(_digit, value)) and any(map(_letter, value)) and not SEPARATORS.search(value)


def restless(value: bytes) -> bool:
    """The same where the word beside it says less: letters and digits change all the time."""
    return mixed(value) and len(value) <= RUN * len(WORDS.findall(value))


PASSWORD = word(rb"pass(?:w(?:or)?d|wort|phrase|code)", rb"", b"password", mixed)
OWNERS = (b"db", b"user", b"admin", b"root", b"store", b"key", b"smtp", b"ftp", b"proxy")
PASS = word(rb"passe?(?![a-z])", rb"(?:(?<![a-z])|" + b"|".join(rb"(?<=" + each + rb")" for each in OWNERS) + rb")", b"password", restless)
"""Tests pass, and so do parameters: it counts where it stands alone, and what follows looks drawn by lot."""
SECRET = word(rb"secret", rb"", b"secret")
TOKEN = word(rb"token", rb"\Z" + b"".join(rb"(?<!" + each + rb")(?<!" + each + rb"[_-])" for each in PLAIN_TOKENS), b"token")
KEY = word(rb"key", rb"(?:" + b"|".join(KEYS) + rb")[ _-]?", b"key")
COOKIE = word(rb"cookie", rb"(?:(?<!\w)|(?<=\\[nrt]))(?:set-)?", b"cookie")
IDENTIFIED = word(rb"identified by", rb"", b"password", mixed)  # as SQL has it
BESIDE = (PASSWORD, PASS, IDENTIFIED, SECRET, TOKEN, KEY, COOKIE)
WITH_PASS = re.compile(rb"pass(?:(w(?:or)?d|wort|phrase|code)|e?(?![a-z]))")
"""Both of them in one walk, which their first letters make a fast one."""
WITH_K = {b"en": TOKEN, b"ey": KEY, b"ie": COOKIE}
"""Three words have one rare letter in common: one walk finds all of them."""
ENDS = bytes(sorted({each[-1] for each in KEYS}))
"""Of what must stand before `key`: in most of what is seen, something else does."""
K = re.compile(rb"k(?:ey(?<=[" + ENDS + rb" _-]key)|en(?<=token)|ie(?<=cookie))(?=[_bvd\\\"'`\])\s=:>%*|])")
"""What may follow is the beginning of what stands between a word and its value, above: `tokens`, of which every answer tells, are none."""


def redact_beside(text: bytes, kind: str = "") -> bytes:
    """By all of them, or by the words of one kind."""
    small = text.lower()
    words = [one for one in words_in(small) if not kind or one[2].kind == kind]
    if not words:
        return text
    pieces: list[bytes] = []
    done = 0
    for start, end, word in sorted(words, key=itemgetter(0)):
        if start < done or not word.before.search(small, max(0, start - LOOKED_BACK), start):
            continue
        value = cookies_after(text, end) if word is COOKIE else value_after(text, start, end, word) or enclosed(text, start, end)
        if value is not None:
            pieces += (text[done : value[0]], word.mark)
            done = value[1]
    return b"".join((*pieces, text[done:])) if done else text


def words_in(small: bytes) -> list[tuple[int, int, Word]]:
    words = []
    for found in K.finditer(small):
        end = found.end()
        word = WITH_K[small[end - 2 : end]]
        words.append((end - len(word.begins.pattern), end, word))
    if b"pass" in small:
        words += [(*found.span(), PASSWORD if found[1] else PASS) for found in WITH_PASS.finditer(small)]
    for word, letters in ((SECRET, b"secret"), (IDENTIFIED, b"identified by")):
        if letters in small:
            words += [(*found.span(), word) for found in word.begins.finditer(small)]
    return words


def cookies_after(text: bytes, end: int) -> tuple[int, int] | None:
    found = COOKIES.match(text, end)
    return found.span(1) if found and not MARK.match(found[1]) else None


def value_after(text: bytes, start: int, end: int, word: Word) -> tuple[int, int] | None:
    """Where a value stands that is worth hiding; a name that is being called, or a mark of an earlier round, is none."""
    if found := ASSIGNED.match(text, end):
        secret = word.short(found[1]) if word.short and len(found[1]) < 16 else is_random(found[1])
    elif (found := ARGUMENT.match(text, end)) and FLAG.search(text, max(0, start - 48), start):
        secret = is_drawn(found[1]) or restless(found[1])
    elif word.short and (found := QUOTED.match(text, end)):
        secret = restless(found[1]) or is_random(found[1])
    elif found := APART.match(text, end):
        secret = is_drawn(found[1]) or (word.short is not None and (restless(found[1]) or is_of_account(text, start, found[1])))
    else:
        return None
    if not secret or found[2] or MARK.match(found[1]):
        return None
    rest = REST.match(text, found.end(1))
    return found.start(1), rest.end() if rest else found.end(1)


def is_of_account(text: bytes, start: int, value: bytes) -> bool:
    return is_random(value) and ACCOUNT.search(text, max(0, start - 100), start) is not None


def enclosed(text: bytes, start: int, end: int) -> tuple[int, int] | None:
    """The value of a field of a form, of a page, or of an element of XML."""
    before = max(0, start - 48)
    if (found := ATTRIBUTE.match(text, end)) and ATTRIBUTE_NAME.search(text, before, start):
        return None if MARK.match(found[1]) else found.span(1)
    if (found := TAG.match(text, end)) and TAG_NAME.search(text, before, start):
        return None if MARK.match(found[1]) else found.span(1)
    if (found := FORM.match(text, end)) and FORM_NAME.search(text, before, start):
        return None if MARK.match(found[1]) else found.span(1)
    return None


def is_random(value: bytes) -> bool:
    """Drawn by lot, as far as one can see: letters and digits change often, few of them come again, no words."""
    if len(value) < 16 or len(set(value)) < 8 or not any(map(_digit, value)) or not any(map(_letter, value)):
        return False
    runs = WORDS.findall(value)
    letters = sum(map(len, runs))
    few_separators = (len(value) - letters) * 6 <= len(value)
    return few_separators and (letters <= RUN * len(runs) or sum(run.isdigit() for run in runs) >= NUMBERS)


def is_drawn(value: bytes) -> bool:
    """The same, and no digest of anything."""
    return is_random(value) and not is_digest(value)


DIGEST = re.compile(rb"(?:sha\d+[:-])?[0-9a-f-]+")


def is_digest(value: bytes) -> bool:
    return DIGEST.fullmatch(value) is not None


def _digit(letter: int) -> bool:
    return 48 <= letter <= 57


def _letter(letter: int) -> bool:
    return 65 <= letter <= 90 or 97 <= letter <= 122
