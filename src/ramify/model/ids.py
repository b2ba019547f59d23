"""Ids that follow from what was seen, so that deriving everything again gives the same ones."""

import hashlib
from functools import lru_cache


def digest(*parts: str | bytes | int | None) -> bytes:
    """16 bytes over the parts; each part is length-prefixed, so no two lists of parts run together."""
    pieces: list[bytes] = []
    for part in parts:
        if type(part) is not bytes:
            part = b"\x00" if part is None else str(part).encode("utf-8", "surrogatepass")
        pieces.append(b"%d:" % len(part))
        pieces.append(part)
    return hashlib.sha256(b"".join(pieces)).digest()[:16]  # faster than blake2 where the processor knows it


def small_digest(*parts: str | bytes | int | None) -> bytes:
    """The same for a few short parts, where the time goes into taking them apart."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()[:16]


def short(prefix: str, *parts: str | bytes | int | None) -> str:
    return f"{prefix}_{small_digest(*parts).hex()[:24]}"


def observation_id(*parts: str | bytes | int | None) -> str:
    return short("obs", *parts)


@lru_cache(4096)
def call_id(request: str) -> str:
    return short("call", request)


@lru_cache(4096)
def session_conversation_id(project: str, session: str) -> str:
    return short("conv", project, "session", session)


@lru_cache(4096)
def rooted_conversation_id(call: str) -> str:
    return short("conv", "root", call)


@lru_cache(4096)
def agent_task_id(project: str, session: str, agent: str) -> str:
    return short("task", project, "agent", session, agent)


@lru_cache(4096)
def opened_task_id(call: str) -> str:
    return short("task", "opened", call)


@lru_cache(4096)
def tool_call_id(project: str, call: str, native: str) -> str:
    return short("tool", project, call, native)


def session_name(key: str) -> str:
    """What a session of the event log is called in public: its key opens it, and is never written down."""
    return f"s-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def message_id(project: str, native: str) -> str:
    """A message that was reported, by the id that its own protocol gives it."""
    return short("msg", project, native)


@lru_cache(4096)
def seen_call_id(project: str, message: str) -> str:
    """A call of which only its answer was reported."""
    return short("call", project, "message", message)
