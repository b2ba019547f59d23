"""Messages of a task: one for each `messageId`, as it was seen first, whatever repeats it."""

from collections.abc import Iterable

import msgspec

from ramify.linking.a2a import subject
from ramify.linking.a2a.facts import Facts, TaskEvent
from ramify.linking.world import World
from ramify.model import ids
from ramify.model.a2a_event import MessageAdded, MessageReplied, Sign, Spoken, StatusSaid, TaskMade, TaskShown
from ramify.model.entity import Message, Task

Saying = tuple[Sign, int, Spoken]
KINDS = {"text": "text", "data": "data", "raw": "file", "url": "file"}


def sayings(event: TaskEvent) -> list[Saying]:
    """Every message that an event holds, with its place in it: a history ends with the present status."""
    match event:
        case TaskMade() | MessageAdded():
            return [(event.sign, 0, event.message)]
        case MessageReplied():
            asked = [(event.sign, 0, event.message)] if event.message is not None else []
            return [*asked, (event.replied, 0, event.reply)]
        case TaskShown():
            last = [event.status.message] if event.status is not None and event.status.message is not None else []
            return [(event.sign, place, said) for place, said in enumerate((*event.history, *last))]
        case StatusSaid() if event.status.message is not None:
            return [(event.sign, 0, event.status.message)]
        case _:
            return []


def message_id(task: str, native: str) -> str:
    return ids.short("msg", task, native)


def put(world: World, facts: Facts, saying: Saying) -> str:
    """The row's id, if there is anything new in it."""
    sign, place, said = saying
    id = message_id(facts.id, said.id)
    known = world.message(id)
    position = sign.place + min(place, 4095)
    if known is not None and (known.at, known.position, known.observation) <= (sign.at, position, sign.observation):
        return ""
    row = Message(id, facts.project, facts.id, sign.at, position, sign.observation, "a2a", said.id, protocol="a2a")
    row.role, row.blocks = said.role, blocks_of(said)
    row.author, row.author_id, row.reason = ("agent", facts.id, "its role says so") if said.role == "agent" else known_author(known)
    world.save("messages", row)
    if known is None:
        subject.own(world, facts.id, "messages", id)
    return id


def known_author(known: Message | None) -> tuple[str, str, str]:
    """Who speaks to a task depends on whose it is; that is said when it is put in its place."""
    return (known.author, known.author_id, known.reason) if known is not None else ("", "", "")


def blocks_of(said: Spoken) -> bytes:
    return b"[" + b",".join(block_of(part.json) for part in said.parts) + b"]"


def block_of(part: bytes) -> bytes:
    value = msgspec.json.decode(part)
    kind = next((KINDS[name] for name in KINDS if name in value), "other")
    return msgspec.json.encode({"type": kind, **value})


# -- who wrote it ------------------------------------------------------------------------------------------------------


def attribute(world: World, facts: Facts, task: Task, said: Iterable[str]) -> None:
    """The user's side of a root is a person, as far as anybody knows; that of a sub-task begins with its parent."""
    prompt = facts.prompt.message if facts.prompt is not None else ""
    if facts.attributed != f"{task.parent} {prompt}":
        facts.attributed = f"{task.parent} {prompt}"
        said = subject.owned(world, facts.id, "messages")
    for id in said:
        row = world.message(id)
        if row is None or row.role != "user":
            continue
        author = author_of(task, row.native == prompt)
        if (row.author, row.author_id, row.reason) != author:
            row.author, row.author_id, row.reason = author
            world.save("messages", row)


def author_of(task: Task, is_prompt: bool) -> tuple[str, str, str]:
    if not task.parent:
        return "human", "", "nobody's sub-task: a person asked, as far as anybody knows"
    if is_prompt:
        return "agent", task.parent, "the task that spawned this one asked"
    return "unknown", "", "a sub-task may be answered by a person or by the task that spawned it"
