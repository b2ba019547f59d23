"""A quick look at a line of JSON, which suffices for almost all of them."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from ramify.capture.a2a.values import is_secret_name
from ramify.capture.redact import PERCENT, patterns_once
from ramify.capture.secret_escapes import folded, is_escaped
from ramify.capture.secret_keys import backslashes_before

NAME_END = re.compile(rb'"\s*:')
LONGEST_NAME = 80
QUERY_NAME = re.compile(rb"[?&;]([\w.%-]{1,80})=")
BESIDE = re.compile(rb'\}\s*+,\s*+\{[^{}]{0,80}?text\\*+"\s*+:')
"""Two parts, the second of which is a text: a secret may stand in both."""


def shows_nothing(line: bytes) -> bool:
    """A quick look that suffices for almost every line, also as it reads without its escapes."""
    if BESIDE.search(line) or PERCENT.search(line):
        return False
    seen = (line, folded(line)) if is_escaped(line) else (line,)
    return not any(has_secret_name(each) or patterns_once(each) != each for each in seen)


def has_secret_name(line: bytes) -> bool:
    return any(map(is_secret_name, names_in(line))) or any(map(is_secret_name, parameters_in(line)))


def parameters_in(line: bytes) -> Iterator[str]:
    return (unquote(found[1].decode("utf-8", "replace")) for found in QUERY_NAME.finditer(line))


def names_in(line: bytes) -> Iterator[str]:
    """Of members, in JSON and in JSON inside strings."""
    for found in NAME_END.finditer(line):
        end = found.start() - backslashes_before(line, found.start())
        start = line.rfind(b'"', max(0, end - LONGEST_NAME), end)
        if start >= 0:
            yield line[start + 1 : end].decode("utf-8", "replace")
