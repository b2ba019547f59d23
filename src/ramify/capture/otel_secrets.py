r"""Secrets in spans and log records: an attribute's name stands beside its value, as `{"key": …, "value": {"stringValue": …}}`."""

import re
from collections.abc import Iterator
from functools import lru_cache

from ramify.capture.redact import is_secret_header, redact_json
from ramify.capture.secret_keys import ANY_MARK, MARK, NAME, value_end

ATTRIBUTE = re.compile(
    rb'"key"\s*:\s*"([^"\\]{1,120})"\s*,\s*"value"\s*:\s*\{\s*(?:"arrayValue"\s*:\s*\{\s*"values"\s*:\s*\[\s*\{\s*)?"stringValue"\s*:\s*"'
)
KEYS = re.compile(rb'"key"\s*:\s*"([^"\\]{1,120})"')
NEXT = re.compile(rb'"\s*\}\s*,\s*\{\s*"stringValue"\s*:\s*"')
HEADER = re.compile(r"http\.(?:request|response)\.header\.(.+)")


def redact_attributes(body: bytes) -> bytes:
    body = redact_json(body)
    if not any(map(is_secret, set(KEYS.findall(body)))):
        return body
    pieces: list[bytes] = []
    done = 0
    for found in ATTRIBUTE.finditer(body):
        if found.start() < done or not is_secret(found[1]):
            continue
        for start, end in values_of(body, found.end()):
            if end > start and not ANY_MARK.fullmatch(body, start, end):
                pieces += (body[done:start], MARK)
                done = end
    return b"".join((*pieces, body[done:])) if done else body


def values_of(body: bytes, start: int) -> Iterator[tuple[int, int]]:
    """The text that begins there, and those that follow it in a list."""
    while True:
        end = value_end(body, start, 0)
        yield start, end
        following = NEXT.match(body, end)
        if following is None:
            return
        start = following.end()


@lru_cache(4096)
def is_secret(key: bytes) -> bool:
    """An attribute for a header is named after it; others are judged by their last word, as members are."""
    header = HEADER.fullmatch(key.decode("utf-8", "replace"))
    return is_secret_header(header[1].replace("_", "-")) if header else NAME.fullmatch(key.rpartition(b".")[2]) is not None
