"""One line of a transcript with its surroundings, and its words read."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ramify.model.event import Hint, MessageSaid, Part, Place, Scope
from ramify.model.observation import Record
from ramify.protocols.anthropic.normal import blocks_of, read_part
from ramify.protocols.claude.files import File
from ramify.protocols.claude.said import Seen
from ramify.protocols.claude.shape import mapping, mappings, text
from ramify.protocols.claude.wire import Line

Blocks = tuple[dict[str, Any], ...]


class Entry(Struct, frozen=True):
    seen: Seen
    file: File
    line: Line


def entry_of(record: Record, file: File, line: Line) -> Entry:
    """The line's own ids first: an agent's file once lay beside its session's, and forks copy lines."""
    agent = text(line.agent_id) or file.agent
    scope = Scope(record.project, session=text(line.session_id) or file.session, agent=agent)
    before = text(line.parent_uuid) or text(line.logical_parent_uuid)
    id = text(mapping(line.forked_from).get("messageUuid")) or text(line.uuid)  # a copy goes by its original's id
    side = line.is_sidechain is True and not agent
    return Entry(Seen(record, scope, Place(id, before, file.line, side)), file, line)


def beside(record: Record, file: File, agent: str = "") -> Seen:
    """Of a file beside a transcript, whose lines have no ids of their own."""
    return Seen(record, Scope(record.project, session=file.session, agent=agent), Place(position=file.line))


def read_blocks(role: str, content: Any) -> tuple[Part, Blocks]:
    """What is no block is left out."""
    blocks = mappings(blocks_of(content))
    return read_part({"role": role, "content": blocks}), tuple(blocks)


def said(entry: Entry, part: Part, blocks: Blocks, hint: Hint, message: str = "") -> MessageSaid:
    seen, copied_from = entry.seen, text(mapping(entry.line.forked_from).get("sessionId"))
    return MessageSaid(seen.scope, *seen.stamp, part, blocks, hint, seen.place, message, copied_from=copied_from)


def shifted(part: Part, by: int) -> Part:
    """A line shows one block of an answer: its place there, not in the line."""
    if not by:
        return part
    return replace(
        part,
        atoms=tuple(replace(atom, block=atom.block + by) for atom in part.atoms),
        texts=tuple(replace(item, block=item.block + by) for item in part.texts),
        uses=tuple(replace(use, block=use.block + by) for use in part.uses),
        results=tuple(replace(result, block=result.block + by) for result in part.results),
        served=tuple(replace(result, block=result.block + by) for result in part.served),
    )
