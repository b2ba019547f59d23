"""Connections of A2A: frames wait for the end of their batch, are put in the order of their numbers, and are read.

A connection's reader is kept between batches: frames that come in order are read once. One that comes late makes its
connection be read again from its beginning.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ramify.linking.a2a.fold import Connection, Fold, attribute
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.a2a_event import Event
from ramify.model.entity import Sheet
from ramify.model.event import Unreadable
from ramify.model.observation import Record
from ramify.protocols.a2a.decode import Reader
from ramify.protocols.a2a.frame import Frame, read_frame


class Kept(Struct, frozen=True, array_like=True):
    project: str
    agent: str
    connection: str
    reader: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Kept).decode


def take(world: World, seen: Record) -> Sequence[Unreadable]:
    frame = read_frame(seen)
    if isinstance(frame, str):
        return [Unreadable(seen.id, seen.at, frame)]
    id = f"a2a:{ids.short('line', seen.project, frame.agent, frame.connection)}"
    world.mark(key("a2a-frames", id), frame.seq, seen.id)
    world.lines_heard.setdefault(id, []).append((frame.seq, seen.id))
    if world.get("sheets", id) is None:
        world.save("sheets", _sheet(id, -1, Kept(seen.project, frame.agent, frame.connection)))
    return ()


def settle(world: World) -> list[Unreadable]:
    reading = Reading(world)
    for id, frames in world.lines_heard.items():
        reading.read_on(id, sorted(frames))
    if world.lines_heard:
        reading.fold.settle()
    attribute(world, reading.fold.said)
    world.lines_heard.clear()
    return reading.problems


class Reading:
    """Of one batch."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.problems: list[Unreadable] = []
        self.fold = Fold(world, self.again)
        self._whole: dict[str, tuple[Connection, list[Event]]] = {}

    def read_on(self, id: str, frames: list[tuple[int, str]]) -> None:
        sheet = self._sheet(id)
        kept = _decode(sheet.state)
        numbers = [seq for seq, _ in frames]
        if numbers[0] > sheet.at and len({*numbers}) == len(numbers):
            reader = Reader(kept.connection, kept.reader)
            events = self._read(reader, frames)
            self.fold.take(Connection(id, kept.project, kept.agent), events)
        else:
            reader = Reader(kept.connection)
            events = self._read(reader, self._frames(id))
            connection = Connection(id, kept.project, kept.agent)
            self._whole[id] = (connection, events)
            self.fold.take_again(connection, events)
        kept = Kept(kept.project, kept.agent, kept.connection, reader.save())
        self.world.save("sheets", _sheet(id, reader.state.following - 1, kept))

    def again(self, id: str) -> tuple[Connection, list[Event]] | None:
        if id not in self._whole:
            kept = _decode(self._sheet(id).state)
            events = self._read(Reader(kept.connection), self._frames(id), [])
            self._whole[id] = Connection(id, kept.project, kept.agent), events
        return self._whole[id]

    def _sheet(self, id: str) -> Sheet:
        row = self.world.get("sheets", id)
        assert isinstance(row, Sheet)
        return row

    def _frames(self, id: str) -> list[tuple[int, str]]:
        """Each number once: the identity of a frame is its place, and the first by its id counts."""
        found = self.world.span(key("a2a-frames", id))
        return list({seq: (seq, observation) for seq, observation in reversed(found)}.values())[::-1]

    def _read(self, reader: Reader, frames: Sequence[tuple[int, str]], problems: list[Unreadable] | None = None) -> list[Event]:
        events: list[Event] = []
        for _, observation in frames:
            seen = self.world.loader.record(observation)
            frame = read_frame(seen) if seen is not None else ""
            if isinstance(frame, Frame):
                for event in reader.feed(frame, observation):
                    if not isinstance(event, Unreadable):
                        events.append(event)
                    elif problems is None:
                        self.problems.append(event)
        return events


def _sheet(id: str, seq: int, kept: Kept) -> Sheet:
    return Sheet(id, "a2a-connection", seq, "", _encode(kept))
