"""An artifact's content in rows: the first in its own, further ones beside it, so that growing rewrites only the last."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ramify.linking.a2a import subject
from ramify.linking.world import World
from ramify.model.a2a_event import Piece
from ramify.model.entity import Artifact, ArtifactPart

FULL = 16 * 1024  # bytes after which another row is begun


def row_of(world: World, task: str, id: str) -> Artifact:
    row = world.get("artifacts", id)
    if isinstance(row, Artifact):
        return row
    subject.own(world, task, "artifacts", id)
    return Artifact(id, task, parts=b"[]")


def write(world: World, task: str, id: str, parts: Sequence[Piece]) -> None:
    row = row_of(world, task, id)
    for number in range(1, row.more + 1):
        world.drop("artifact_parts", f"{id}.{number}")
    row.parts, row.more = b"[]", 0
    world.save("artifacts", row)
    extend(world, task, id, parts)


def extend(world: World, task: str, id: str, parts: Sequence[Piece]) -> None:
    """Where the rows are cut depends on the content alone, not on how it came."""
    row = row_of(world, task, id)
    last = world.get("artifact_parts", f"{id}.{row.more}") if row.more else None
    text = last.parts if isinstance(last, ArtifactPart) else row.parts
    for part in parts:
        if len(text) >= FULL:
            _put(world, row, text)
            row.more += 1
            subject.own(world, task, "artifact_parts", f"{id}.{row.more}")
            text = b"[]"
        text = text[:-1] + (b"," if len(text) > 2 else b"") + part.json + b"]"
    _put(world, row, text)


def _put(world: World, row: Artifact, text: bytes) -> None:
    if row.more:
        world.save("artifact_parts", ArtifactPart(f"{row.id}.{row.more}", text))
    else:
        row.parts = text
    world.save("artifacts", row)


def describe(
    world: World, task: str, id: str, words: tuple[str, str, bytes], first: tuple[int, int, str], state: tuple[bool, int]
) -> None:
    row = row_of(world, task, id)
    native, name, more = words
    details: dict[str, Any] = msgspec.json.decode(more) if more else {}
    told = (native, name, first[0], first[1], *state, details)
    if (row.native, row.name, row.at, row.position, row.partial, row.closed, row.details) != told:
        row.native, row.name, row.at, row.position, row.partial, row.closed, row.details = told
        world.save("artifacts", row)
