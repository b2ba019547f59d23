"""From an observed exchange of the Messages API to events. Never raises: what cannot be read is said to be so."""

import re
from typing import Any
from urllib.parse import unquote

import msgspec

from ramify.model.event import ENDED_EARLY, Event, ModelAnswered, ModelCalled, Part, Scope, Unreadable
from ramify.model.ids import digest
from ramify.model.observation import Headers, Request, Response
from ramify.protocols.anthropic import answer as answers
from ramify.protocols.anthropic.helper_calls import label
from ramify.protocols.anthropic.normal import canonical, read_part
from ramify.protocols.anthropic.wire import Envelope
from ramify.protocols.wire.coding import decode, encodings_of

MESSAGES = re.compile(r"/v1/messages(?:/count_tokens)?(?:\?|$)")
TRACE = re.compile(r"^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-")
ENTRY = re.compile(r"/v1/messages\?batch=([^&]*)&custom_id=([^&]*)")
BATCH = "batch"  # the source of what was cut out of one, and what its tokens are charged as
OLD_USER = re.compile(r"^(user_.*)_session_([0-9a-fA-F-]{36})$")


def header(headers: Headers, name: str) -> str:
    for key, value in headers:
        if key.lower() == name:
            return value
    return ""


def plain_body(body: bytes, headers: Headers) -> bytes:
    """A copy without its content encoding; as it is where that cannot be undone."""
    encodings = encodings_of(header(headers, "content-encoding"))
    if not encodings:
        return body
    plain = decode(body, encodings)
    return body if plain is None else plain


def read_scope(project: str, headers: Headers, metadata: Any) -> Scope:
    session = header(headers, "x-claude-code-session-id") or header(headers, "x-session-id")
    user, inner = user_and_session(metadata)
    above = header(headers, "x-parent-session-id") if session else ""
    return Scope(
        project,
        user,
        session or inner,
        header(headers, "x-claude-code-agent-id"),
        header(headers, "x-claude-code-parent-agent-id"),
        above if above != session else "",
    )


def user_and_session(metadata: Any) -> tuple[str, str]:
    """Claude Code packs its session into `metadata.user_id`, in one of two ways; others put a user there.

    A session says more than a user: within one, the account may change.
    """
    given = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(given, str) or not given:
        return "", ""
    if old := OLD_USER.match(given):
        return "", old.group(2)
    if given.startswith("{"):
        try:
            inner = msgspec.json.decode(given)
        except (msgspec.MsgspecError, RecursionError):
            return given, ""
        session = inner.get("session_id")
        return ("", session) if isinstance(session, str) and session else (given, "")
    return given, ""


def previous_message(envelope: Envelope) -> tuple[str, bool]:
    """The answer that the caller says it continues, and whether only new messages were sent."""
    thread, diagnostics = envelope.thread, envelope.diagnostics
    if isinstance(thread, dict) and thread.get("type") == "continue":
        return str(thread.get("previous_message_id") or ""), True
    if isinstance(diagnostics, dict):
        return str(diagnostics.get("previous_message_id") or ""), False
    return "", False


def decode_unreadable(seen: Request) -> ModelCalled:
    """A call whose body cannot be read is still a call."""
    utility = "count_tokens" if "/count_tokens" in seen.path else ""
    return ModelCalled(
        seen.id, seen.exchange, seen.source, seen.at, read_scope(seen.project, seen.headers, None), utility=utility
    )


def decode_request(seen: Request, envelope: Envelope, parts: tuple[Part, ...], strict: bytes) -> ModelCalled:
    previous, thread = previous_message(envelope)
    hint = header(seen.headers, "x-claude-code-request-class")
    return ModelCalled(
        request=seen.id,
        exchange=seen.exchange,
        source=seen.source,
        at=seen.at,
        scope=read_scope(seen.project, seen.headers, envelope.metadata),
        model=envelope.model if isinstance(envelope.model, str) else "",
        utility=label(seen.path, hint, envelope, parts),
        strict=digest(strict, canonical([envelope.thread, envelope.compaction])),
        parts=parts,
        previous=previous,
        thread=thread,
        agent_type=header(seen.headers, "x-claude-code-agent-type"),
        client=header(seen.headers, "user-agent"),
        trace=trace_of(header(seen.headers, "traceparent")),
        span=span_of(header(seen.headers, "traceparent")),
    )


def trace_of(parent: str) -> str:
    """The trace's id in a `traceparent` header (W3C); a trace of zeros is none."""
    found = TRACE.match(parent)
    return found.group(1) if found and found.group(1).strip("0") else ""


def span_of(parent: str) -> str:
    found = TRACE.match(parent)
    return f"{found.group(1)}-{found.group(2)}" if found and trace_of(parent) and found.group(2).strip("0") else ""


def entry_of(path: str) -> str:
    """`batch/custom_id` of what was cut out of a batch; empty for all else."""
    found = ENTRY.search(path) if "?batch=" in path else None
    return "/".join(map(unquote, found.groups())) if found else ""


def decode_response(seen: Response, answer: answers.Answer) -> list[Event]:
    """`answer` is its body, put together."""
    if "/count_tokens" in seen.path and answer.complete:
        answer = answers.Answer(complete=True)  # its figure is an estimate, no usage
    status, error = outcome(seen, answer)
    part = read_part({"role": "assistant", "content": answer.blocks}) if answer.blocks else None
    model = answers.served_by(answer.usage, answer.model)
    entry = entry_of(seen.path)
    if entry and answer.usage:
        answer.usage["service_tier"] = BATCH
    events: list[Event] = [
        ModelAnswered(
            request=seen.request,
            response=seen.id,
            project=seen.project,
            at=seen.at,
            status=status,
            first_byte=seen.first_byte,
            http_status=seen.status,
            message=answer.message,
            request_id=header(seen.headers, "request-id") or header(seen.headers, "x-request-id"),
            model=model,
            stop_reason=answer.stop_reason,
            tokens=answers.tokens_of(answer.usage) if answer.usage else None,
            extra_tokens=answers.extra_of(answer.usage, model),
            part=part,
            error=error,
            lost=seen.outcome == "lost",
            source=BATCH if entry else "",
            entry=entry,
        )
    ]
    if answer.unreadable and seen.outcome == "complete":
        events.append(
            Unreadable(seen.id, seen.at, f"{answer.unreadable} event(s) of the answer: {answer.error or 'no JSON'}")
        )
    return events


def outcome(seen: Response, answer: answers.Answer) -> tuple[str, str]:
    """Complete is what the protocol says is complete. The client's leaving is an abort, all else an error."""
    if seen.outcome in ("aborted", "lost"):
        if answer.complete and seen.status < 400 and not answer.error:
            return "ok", ""  # everything had come before the client hung up
        return "aborted", seen.error or (
            "never answered" if seen.outcome == "lost" else "the client closed the connection"
        )
    if answer.error or seen.status >= 400 or seen.status == 0:
        return "error", answer.error or seen.error or f"HTTP {seen.status}"
    if seen.outcome == "complete" and (answer.complete or "/count_tokens" in seen.path):
        return "ok", ""
    return "error", seen.error or ENDED_EARLY
