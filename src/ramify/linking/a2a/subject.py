"""Tasks of A2A as subjects of a fold: their ids, the rows that belong to them, and how all of it is taken back."""

import msgspec

from ramify.linking.a2a.facts import Facts
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.a2a_event import AgentShown, Event, MessageReplied
from ramify.model.entity import Sheet

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Facts).decode


def task_id(project: str, agent: str, native: str) -> str:
    return ids.short("task", project, "a2a", agent, native)


def unresolved_id(project: str, native: str) -> str:
    """Of a task that is known by name only: nobody knows at which agent it is."""
    return ids.short("task", project, "a2a", native)


def reply_id(project: str, agent: str, message: str) -> str:
    return ids.short("task", project, "a2a", agent, "message", message)


def conversation_id(project: str, agent: str, context: str) -> str:
    return ids.short("conv", project, "a2a", agent, context)


def asked_message(event: MessageReplied) -> str:
    return event.message.id if event.message is not None else event.reply.id


def new_facts(project: str, agent: str, event: Event) -> Facts | None:
    """Empty facts of the task that an event is about."""
    match event:
        case AgentShown():
            return None
        case MessageReplied():
            message = asked_message(event)
            return Facts(reply_id(project, agent, message), project, agent, message=message)
        case _:
            return Facts(task_id(project, agent, event.task), project, agent, event.task)


# -- kept --------------------------------------------------------------------------------------------------------------


def sheet_id(subject: str) -> str:
    return f"a2a:{subject}"


def load(world: World, subject: str) -> Facts | None:
    row = world.get("sheets", sheet_id(subject))
    return _decode(row.state) if isinstance(row, Sheet) else None


def keep(world: World, facts: Facts) -> None:
    world.save("sheets", Sheet(sheet_id(facts.id), "a2a-task", facts.active, "", _encode(facts)))


def own(world: World, subject: str, table: str, id: str) -> None:
    """Remembers that a row is the subject's, so that it can be taken back."""
    world.mark(key("a2a-rows", subject), 0, f"{table}/{id}")


def owned(world: World, subject: str, table: str) -> list[str]:
    found = (ref.split("/", 1) for _, ref in world.span(key("a2a-rows", subject)))
    return [id for place, id in found if place == table]


def clear(world: World, subject: str) -> None:
    """Everything that was ever said of it, as if it had not been. Its task stays until it is put again, or removed."""
    rows = key("a2a-rows", subject)
    for at, ref in world.span(rows):
        table, id = ref.split("/", 1)
        world.drop(table, id)
        world.unmark(rows, at, ref)
    world.drop("sheets", sheet_id(subject))
