"""Secrets out of a mesh's messages: beside them by their names, in what was said by their form alone."""

import json
import re
from typing import Any

from ramify.capture.redact import redact_text

REDACTED = "[redacted]"
SECRET_KEYS = (
    "authtoken", "accesstoken", "refreshtoken", "idtoken", "samaccesstoken", "authorization", "password", "passwd",
    "secret", "clientsecret", "apikey", "privatekey", "cookie", "credential", "credentials",
)  # fmt: skip
JWT = re.compile(r"eyJ[\w-]*\.[\w-]*\.[\w-]*=*")
SIGNS = (
    b"authtoken", b"accesstoken", b"refreshtoken", b"idtoken", b"authorization", b"password", b"passwd", b"secret", b"apikey",
    b"privatekey", b"cookie", b"credential", b"eyj", b"bearer", b"\\u00",
)  # fmt: skip
"""Where none of them is in a message, squeezed and in small letters, there is nothing to look for: a search for each is
many times faster than one pattern, and histories are long."""
BESIDE = ("user_properties", "metadata")
VERBATIM = ("tool_args", "args", "response", "contents", "config", "text")
"""What agents said and did. Names in it are theirs, and say nothing; a key is known by its form there as everywhere."""


def redact_message(body: bytes) -> bytes:
    """The same bytes where there is nothing to redact, which is almost always so."""
    named = redact_beside_messages(body)
    clean = redact_text(named)
    return body if clean == body else clean


def redact_beside_messages(body: bytes) -> bytes:
    squeezed = body.translate(None, b"_-").lower()
    if not any(sign in squeezed for sign in SIGNS):
        return body
    try:
        found = json.loads(body)
        clean = searched(found, False)
        return body if clean == found else json.dumps(clean, ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # too deep counts as broken
        return redact_broken(body)


def searched(value: Any, beside: bool) -> Any:
    """`beside`: inside properties or metadata, where names and shapes give secrets away."""
    match value:
        case dict():
            return {name: member(name, one, beside) for name, one in value.items()}
        case list():
            return [searched(one, beside) for one in value]
        case str() if beside and (JWT.fullmatch(value) or value[:7].lower() == "bearer "):
            return REDACTED
        case _:
            return value


def member(name: str, value: Any, beside: bool) -> Any:
    if beside:
        plain = name.replace("_", "").replace("-", "").lower()
        return REDACTED if plain in SECRET_KEYS and value not in (None, "") else searched(value, True)
    if name in VERBATIM or (name == "result_data" and not is_task(value)):
        return value
    return searched(value, name in BESIDE)


def is_task(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") == "task"


BROKEN = re.compile(
    rb'("(?i:auth|access|refresh|id|sam_?access)[_-]?(?i:token)"|"(?i:authorization|password|passwd|(?:client[_-]?)?secret'
    rb'|api[_-]?key|private[_-]?key|cookie|credentials?)")(\s*:\s*)"(?:[^"\\]|\\.)*"?'
)
BROKEN_TOKEN = re.compile(rb"eyJ[\w-]++(\.[\w-]++\.[\w-]*+)?|Bearer ([^\s\"\\]++)")


def redact_broken(body: bytes) -> bytes:
    """A line that is no JSON has no properties and no metadata: whatever looks like a secret goes."""
    named = BROKEN.sub(rb'\1\2"[redacted]"', body)
    return BROKEN_TOKEN.sub(lambda found: REDACTED.encode() if found[1] or found[2] else found[0], named)
