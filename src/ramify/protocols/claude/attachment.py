"""Attachments: what the client laid beside a turn. Some are messages, most are notes to itself."""

from collections.abc import Iterable
from typing import Any

from ramify.model.event import Event, Hint
from ramify.protocols.anthropic.normal import blocks_of
from ramify.protocols.claude.delegation import by_notices
from ramify.protocols.claude.entry import Entry, read_blocks, said
from ramify.protocols.claude.hints import HOOK, NOTIFICATION, REMINDER, queued_hint
from ramify.protocols.claude.shape import mapping, mappings, text
from ramify.protocols.claude.wire import any_decoder, hooked_decoder, is_object, kind_decoder, queued_decoder


def read_attachment(entry: Entry) -> Iterable[Event]:
    if not is_object(entry.line.attachment):
        return
    kind = text(kind_decoder.decode(entry.line.attachment).type)
    if kind == "queued_command":
        yield from queued(entry)
    elif kind.startswith("hook_"):
        yield from shown(entry, rendered(entry) or hook_words(entry), HOOK)
    elif kind != "prompt_snapshot":  # a copy of a request's fixed parts
        yield from shown(entry, rendered(entry), REMINDER)


def queued(entry: Entry) -> Iterable[Event]:
    """What was said, not how the client wrapped it for the model."""
    command = queued_decoder.decode(entry.line.attachment)
    hint = queued_hint(command.command_mode, command.origin)
    part, blocks = read_blocks(role_of(entry), command.prompt)
    if not blocks:
        return
    yield said(entry, part, blocks, hint)
    if hint.kind == NOTIFICATION.kind:
        yield from by_notices(entry.seen, part)


def shown(entry: Entry, content: list[Any], hint: Hint) -> Iterable[Event]:
    part, blocks = read_blocks(role_of(entry), content)
    if blocks:
        yield said(entry, part, blocks, hint)


def role_of(entry: Entry) -> str:
    return text(entry.line.rendered_role) or "user"


def rendered(entry: Entry) -> list[Any]:
    """As the model saw it. Older clients did not keep this; then nobody knows the words."""
    parts = mappings(any_decoder.decode(entry.line.rendered))
    return [block for part in parts for block in blocks_of(part.get("content"))]


def hook_words(entry: Entry) -> list[Any]:
    """What a hook gave the model; what it only printed is not said to anybody."""
    hooked = hooked_decoder.decode(entry.line.attachment)
    words = hooked.content if isinstance(hooked.content, list) else [hooked.content]
    given = [text(item) for item in [*words, mapping(hooked.blocking_error).get("blockingError")]]
    return [{"type": "text", "text": item} for item in given if item]
