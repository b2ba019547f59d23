"""From a line of a transcript, or a file beside it, to events. Never raises: what cannot be read is said to be so."""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from ramify.model.event import (
    AgentSeen,
    Event,
    Hint,
    ModelAnswered,
    Part,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolReturned,
    Unreadable,
)
from ramify.model.observation import Record
from ramify.protocols.anthropic.answer import extra_of, served_by, tokens_of
from ramify.protocols.claude import delegation
from ramify.protocols.claude.attachment import read_attachment
from ramify.protocols.claude.entry import Entry, entry_of, read_blocks, said, shifted
from ramify.protocols.claude.files import File, file_of
from ramify.protocols.claude.hints import FIRST_LINE, META, NOTIFICATION, SYNTHETIC, hint_of
from ramify.protocols.claude.shape import mapping, text
from ramify.protocols.claude.stream import usage_of
from ramify.protocols.claude.wire import (
    Message,
    any_decoder,
    is_object,
    line_decoder,
    message_decoder,
)
from ramify.protocols.wire.characters import whole_characters

INTERRUPTED = "[Request interrupted by user"
NOBODY = "<synthetic>"  # the model of words that no model said
WARM_UP = "Warmup"
# Copies of requests and of files, and no messages: half of a transcript, known by how their lines begin.
COPIES = (b'{"type":"api-request', b'{"type":"file-history-snapshot"')


def decode_transcript(record: Record) -> tuple[Event, ...]:
    try:
        return tuple(read_record(record))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        reason = str(problem)
    repaired = whole_characters(record.body)
    if repaired != record.body:
        return decode_transcript(replace(record, body=repaired))
    return (Unreadable(record.id, record.at, f"transcript: {reason}"),)


def read_record(record: Record) -> Iterable[Event]:
    if record.body.startswith(COPIES) and record.body.rstrip().endswith(b"}"):
        return ()
    file = file_of(record.place)
    match file.kind:
        case "session" | "agent":
            return read_line(record, file)
        case _ if not file.session:
            return [Unreadable(record.id, record.at, f"transcript: no session's folder above {record.place}")]
        case "sidecar":
            return delegation.by_sidecar(record, file)
        case "journal":
            return delegation.by_journal(record, file)
        case _:
            return delegation.by_workflow(record, file)


def read_line(record: Record, file: File) -> Iterable[Event]:
    line = line_decoder.decode(record.body)
    reader = READERS.get(text(line.type))
    return reader(entry_of(record, file, line)) if reader else ()


def read_message(entry: Entry) -> Message | None:
    return message_decoder.decode(entry.line.message) if is_object(entry.line.message) else None


def assistant(entry: Entry) -> Iterable[Event]:
    message = read_message(entry)
    if message is None:
        return
    part, blocks = read_blocks("assistant", message.content)
    if is_copy(entry, part):
        return
    part = shifted(part, block_index(entry))
    failed = entry.line.is_api_error_message is True
    if failed or message.model == NOBODY:
        yield said(entry, part, blocks, SYNTHETIC)
        yield from moved(entry, "failed", "api_error") if failed else ()
        return
    if text(message.id):
        yield answered(entry, message, part)
    yield said(entry, part, blocks, Hint(), text(message.id))
    for result in part.served:
        yield ToolReturned(entry.seen.scope, *entry.seen.stamp, result)


def is_copy(entry: Entry, part: Part) -> bool:
    """A forked agent's file begins with its caller's answer, the one that forked it, under another uuid."""
    alone = not entry.seen.place.before and bool(entry.seen.scope.agent)
    return alone and any(use.agent_type == "fork" for use in part.uses)


def block_index(entry: Entry) -> int:
    """An answer's blocks come one a line. Older clients do not number them: then the lines' order is theirs."""
    index = entry.line.api_block_index
    return index if type(index) is int and 0 <= index < 2**31 else entry.file.line


def answered(entry: Entry, message: Message, part: Part) -> ModelAnswered:
    """Without a reason for its end the figures are those of the beginning (2.1.30 writes no others)."""
    usage, stop_reason = mapping(message.usage), text(message.stop_reason)
    model = served_by(usage, text(message.model))
    return ModelAnswered(
        request="",
        response=entry.seen.record.id,
        project=entry.seen.record.project,
        at=entry.seen.record.at,
        status="aborted" if entry.line.is_aborted_mid_stream is True else "ok",
        message=text(message.id),
        request_id=text(entry.line.request_id),
        model=model,
        stop_reason=stop_reason,
        tokens=tokens_of(usage) if usage else None,
        extra_tokens=extra_of(usage, model),
        part=part,
        scope=entry.seen.scope,
        source=entry.seen.record.source,
        final=bool(stop_reason),
        place=entry.seen.place,
    )


def moved(entry: Entry, status: str, native: str) -> Iterable[Event]:
    """A side line of old clients does not say which agent's it is: then nobody can be said to have ended."""
    if not entry.seen.place.side:
        yield TaskMoved(entry.seen.scope, *entry.seen.stamp, status, native)


def user(entry: Entry) -> Iterable[Event]:
    message = read_message(entry)
    if message is None:
        return
    part, blocks = read_blocks(text(message.role) or "user", message.content)
    if not blocks:
        return
    prompt = opening(entry, part)
    hint = hint_of(entry.line) if prompt is None else opening_hint(entry, prompt)
    yield said(entry, part, blocks, hint)
    if prompt is not None and entry.seen.scope.agent:
        yield TaskOpened(entry.seen.scope, *entry.seen.stamp, prompt=prompt)
        yield from delegation.in_workflow(entry.seen, entry.file, entry.seen.scope)
    yield from returned(entry, part)
    yield from told(entry, part, hint)


def opening(entry: Entry, part: Part) -> str | None:
    """The prompt that an agent was given; None where this line is none. A fork's stands behind its receipt."""
    place = entry.seen.place
    if not (entry.seen.scope.agent or place.side) or entry.line.is_compact_summary is True:
        return None
    words = "\n\n".join(item.raw for item in part.texts)
    if any(result.fork for result in part.results):
        return words.partition("</fork-boilerplate>")[2].strip().removeprefix("Your directive: ") or words
    return None if place.before or part.results else words


def opening_hint(entry: Entry, prompt: str) -> Hint:
    """A workflow's prompts are words of its script, and say so themselves. Nobody asked for a warm-up (2.0)."""
    if entry.file.run:
        return Hint()
    return META if prompt == WARM_UP else FIRST_LINE


def returned(entry: Entry, part: Part) -> Iterable[Event]:
    """A fork's first result only tells the fork who it is; its caller's file has the call's own result."""
    if not part.results:
        return
    seen, outcome = entry.seen, delegation.outcome_of(entry)
    status = "canceled" if was_canceled(entry) or outcome.get("interrupted") is True else ""
    for result in part.results:
        if result.fork and seen.scope.agent:
            yield TaskReferred(seen.scope, *seen.stamp, "agent-id-in-result", result.id)
        else:
            yield ToolReturned(seen.scope, *seen.stamp, result, status=status)
    yield from delegation.by_outcome(entry, outcome, part)


def was_canceled(entry: Entry) -> bool:
    """By a flag, or, from older clients, by how the result's text ends."""
    if entry.line.tool_denial_kind == "user-rejected":
        return True
    note = bytes(entry.line.tool_use_result)
    return note == b'"User rejected tool use"' or note.endswith(b'[Request interrupted by user for tool use]"')


def told(entry: Entry, part: Part, hint: Hint) -> Iterable[Event]:
    """What the client's own words tell; somebody else who writes the same words tells nothing."""
    if hint.kind == NOTIFICATION.kind or not hint.author:
        yield from delegation.by_notices(entry.seen, part)
    if hint == Hint() and any(item.raw.startswith(INTERRUPTED) for item in part.texts):
        yield from moved(entry, "canceled", "interrupted")


def system(entry: Entry) -> Iterable[Event]:
    """Only a local command's words are a message. A compaction is told by its summary, an error by the lines behind
    it: a request that failed may be tried again."""
    if entry.line.subtype != "local_command":
        return
    part, blocks = read_blocks("system", any_decoder.decode(entry.line.content))
    if blocks:
        yield said(entry, part, blocks, META)


def queue(entry: Entry) -> Iterable[Event]:
    """A prompt came in: from then on the session was at work. Its history may be older, if it is a copy."""
    if entry.seen.record.at:
        yield AgentSeen(entry.seen.scope, *entry.seen.stamp, entry.seen.place)


def cost_state(entry: Entry) -> Iterable[Event]:
    """Since the session began; a forked session carries its parent's sums on."""
    return usage_of(entry.seen, {"modelUsage": any_decoder.decode(entry.line.model_usage)})


def sidecar(entry: Entry) -> Iterable[Event]:
    """A sidecar file as the SDK hands it to a store of sessions: as a line."""
    return delegation.by_sidecar(entry.seen.record, entry.file)


READERS: dict[str, Callable[[Entry], Iterable[Event]]] = {
    "assistant": assistant,
    "user": user,
    "attachment": read_attachment,
    "system": system,
    "progress": delegation.by_progress,
    "queue-operation": queue,
    "cost-state": cost_state,
    "agent_metadata": sidecar,
}
