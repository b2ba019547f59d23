"""Ids that follow from what was seen, so that deriving everything again gives the same ones."""

import hashlib


def digest(*parts: str | bytes | int | None) -> bytes:
    """16 bytes over the parts; each part is length-prefixed, so no two lists of parts run together."""
    pieces: list[bytes] = []
    for part in parts:
        if type(part) is not bytes:
            part = b"\x00" if part is None else str(part).encode("utf-8", "surrogatepass")
        pieces.append(b"%d:" % len(part))
        pieces.append(part)
    return hashlib.sha256(b"".join(pieces)).digest()[:16]  # faster than blake2 where the processor knows it


def short(prefix: str, *parts: str | bytes | int | None) -> str:
    return f"{prefix}_{digest(*parts).hex()[:24]}"


def observation_id(*parts: str | bytes | int | None) -> str:
    return short("obs", *parts)


def call_id(request: str) -> str:
    return short("call", request)


def session_conversation_id(project: str, session: str) -> str:
    return short("conv", project, "session", session)


def rooted_conversation_id(call: str) -> str:
    return short("conv", "root", call)


def agent_task_id(project: str, session: str, agent: str) -> str:
    return short("task", project, "agent", session, agent)


def opened_task_id(call: str) -> str:
    return short("task", "opened", call)


def tool_call_id(project: str, call: str, native: str) -> str:
    return short("tool", project, call, native)
