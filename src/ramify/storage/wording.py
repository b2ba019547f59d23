"""How texts are cut into words where the engine does not do it itself: as SQLite's index does, so that all find the same."""

import re
import unicodedata
from hashlib import sha256

BETWEEN = re.compile(r"[\W_]+")
QUOTED = re.compile(r'"((?:[^"]|"")*)"')
MARKS = re.compile(r"[\u0300-\u036f]")


def plain(text: str) -> str:
    """Letters and digits, without case and marks; everything else parts words."""
    spread = unicodedata.normalize("NFD", text) if not text.isascii() else text
    return BETWEEN.sub(" ", MARKS.sub("", spread)).lower()


def project_word(project: str) -> str:
    """A word that nobody says, and no tokenizer takes apart."""
    return f"rmfproject{sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
