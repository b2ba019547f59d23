"""What a model was given to read, of protocols that tell it: it stays in the log, because it repeats itself."""

from typing import Any

from ramify.model.entity import Note
from ramify.model.observation import Record
from ramify.protocols.sam.history import contents
from ramify.storage.base import Store


def history_of(store: Store, note: Note) -> list[Any] | None:
    if note.kind != "context" or "part" not in note.details:
        return None
    seen = store.observation(note.observation)
    return contents(seen.body, note.details["part"]) if isinstance(seen, Record) else None
