"""Secrets in text that was put into a string as base64: a file, a setting of a cluster, an attribute of bytes.

Almost everything that looks like base64 is no text: pictures, signatures, digests, ids. So a look at the first letters decides.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable

CODED = re.compile(rb'(:\s?\\*+")([A-Za-z0-9+/]{32,}+={0,2})(?=\\*+")')
LOOK = 64  # letters that tell whether it is text
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def redact_coded(text: bytes, redact: Callable[[bytes], bytes]) -> bytes:
    """Whole values of members alone: inside of others it would be some other coding's."""
    return CODED.sub(lambda found: found[1] + clean_of(found[2], redact), text)


def clean_of(coded: bytes, redact: Callable[[bytes], bytes]) -> bytes:
    if not is_text(decoded(coded[:LOOK]), cut=len(coded) > LOOK):
        return coded
    plain = decoded(coded)
    if not is_text(plain):
        return coded
    clean = redact(plain)
    return coded if clean == plain else b64encode(clean)


def decoded(coded: bytes) -> bytes:
    """Nothing for what is no base64 after all."""
    try:
        return b64decode(coded)
    except Error:
        return b""


def is_text(raw: bytes, cut: bool = False) -> bool:
    if not raw or CONTROL.search(raw):
        return False
    try:
        raw.decode()
    except UnicodeDecodeError as problem:
        return cut and problem.start >= len(raw) - 3
    return True
