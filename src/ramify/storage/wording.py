"""How texts are cut into words, and questions read: here and not by the engines, each of which does it in a way of its own."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

BETWEEN = re.compile(r"[\W_]+")
QUOTED = re.compile(r'(NOT )?"((?:[^"]|"")*)"')
MARKS = re.compile(r"[\u0300-\u036f]")


class Sought(Struct, frozen=True):
    """Words in a row, each of which must stand in a text, and those that must not."""

    wanted: list[str]
    unwanted: list[str]


def sought(text: str) -> Sought:
    """`"these words" "and these" NOT "those"`. What has no word in it is passed over."""
    terms = [(bool(denied), plain(term).strip()) for denied, term in QUOTED.findall(text)]
    return Sought([term for denied, term in terms if term and not denied], [term for denied, term in terms if term and denied])


def singles(terms: Iterable[str]) -> list[str]:
    """The words of all of them."""
    return sorted({word for term in terms for word in term.split()})


def plain(text: str) -> str:
    """Letters and digits, without case and marks; everything else parts words. Put together again: signs of some scripts are one
    letter only as a whole."""
    if text.isascii():
        return BETWEEN.sub(" ", text).lower()
    bare = MARKS.sub("", unicodedata.normalize("NFD", text))
    return BETWEEN.sub(" ", unicodedata.normalize("NFC", bare).casefold())


def project_word(project: str) -> str:
    """A word that nobody says, and no tokenizer takes apart."""
    return f"rmfproject{sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
