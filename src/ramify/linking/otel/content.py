"""What was said in a model call: rows that belong to its span, and are shown where the call stands."""

from functools import lru_cache

import msgspec

from ramify.linking.otel.nodes import place_key
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Message, Note, Task
from ramify.model.otel_event import LogTold, Said, SpanSeen

ANSWERS = 1000  # records of one moment: an answer stands behind what was asked


@lru_cache(8192)
def message_id(project: str, place: str, number: int) -> str:
    return ids.short("msg", project, "otel", place, number)


def message_ids(seen: SpanSeen) -> list[str]:
    return [message_id(seen.project, seen.place, number) for number in range(seen.messages)]


def put_messages(world: World, seen: SpanSeen, before: int) -> None:
    """Not shown anywhere yet."""
    for number, said in enumerate(seen.content.said):
        at = seen.closed if said.role == "assistant" else seen.opened
        _put(world, seen.project, message_id(seen.project, seen.place, number), said, at, number, seen.observation)
    for number in range(len(seen.content.said), before):
        world.drop("messages", message_id(seen.project, seen.place, number))
        world.drop("notes", message_id(seen.project, seen.place, number))


def put_log(world: World, told: LogTold) -> None:
    for number, said in enumerate(told.content.said):
        id = ids.short("msg", told.project, "otel-log", told.place, told.observation, said.blocks, number)
        place = number + (ANSWERS if said.role == "assistant" else 0)
        _put(world, told.project, id, said, told.at, place, told.observation)
        world.mark(logs_key(told.project, told.place), told.at, id)
        world.add(key("otel-logged", told.project), 0, "")


def logs_key(project: str, place: str) -> int:
    return place_key("otel-logs", project, place)


def logged(world: World, seen: SpanSeen) -> list[str]:
    if not world.find(key("otel-logged", seen.project)):
        return []
    return [ref for _, ref in world.every(logs_key(seen.project, seen.place))]


def _put(world: World, project: str, id: str, said: Said, at: int, number: int, observation: str) -> None:
    if said.thought:
        block = msgspec.json.decode(said.blocks)[0]
        words = str(block.get("thinking") or "")
        world.save("notes", Note(id, "", at, number, "thinking", words, observation=observation, details={} if words else {"withheld": True}))
        return
    row = Message(id, project, "", at, number, observation, "otel", protocol="otel", role=said.role, blocks=said.blocks)
    row.author, row.reason = AUTHORS.get(said.role, ("unknown", "its span does not say"))
    world.save("messages", row)


AUTHORS = {
    "assistant": ("agent", "the model's answer"),
    "tool": ("tool", "a tool's result"),
    "system": ("system", "instructions of the program"),
}


def show(world: World, seen: SpanSeen, task: Task | None, model: str) -> None:
    """In this task; None: nowhere, because another span tells the same."""
    for id in (*message_ids(seen), *logged(world, seen)):
        _show(world, id, task, model)


def _show(world: World, id: str, task: Task | None, model: str) -> None:
    line = task.id if task is not None else ""
    row = world.message(id)
    if row is None:
        _show_note(world, id, task, model)
        return
    author, reason, writer = row.author, row.reason, row.author_id
    if row.role == "user":
        author, reason = ("agent", "the task that asked for it") if task is not None and task.parent else ("human", "nobody else asked")
        if _only_results(row):
            author, reason = "tool", "a tool's result"
        writer = task.parent if task is not None and author == "agent" else ""
    elif row.role == "assistant":
        writer = line
    if (row.line, row.author, row.reason, row.author_id) != (line, author, reason, writer):
        row.line, row.author, row.reason, row.author_id = line, author, reason, writer
        world.save("messages", row)


def _show_note(world: World, id: str, task: Task | None, model: str) -> None:
    note, line = world.get("notes", id), task.id if task is not None else ""
    if isinstance(note, Note) and (note.task, note.model) != (line, model):
        note.task, note.model, note.agent_name = line, model, task.agent if task is not None else ""
        world.save("notes", note)


def _only_results(row: Message) -> bool:
    if b'"tool_result"' not in row.blocks:
        return False
    blocks = msgspec.json.decode(row.blocks)
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def first_words(world: World, seen: SpanSeen) -> str:
    """What a call was asked first, for a task of which no span says it."""
    for number in range(seen.messages):
        row = world.message(message_id(seen.project, seen.place, number))
        if row is not None and row.role == "user":
            words = [block["text"] for block in msgspec.json.decode(row.blocks) if block.get("type") == "text" and block.get("text")]
            if words:
                return "\n\n".join(words)
    return ""


def shown_by(world: World, candidates: list[SpanSeen]) -> SpanSeen | None:
    """Of the spans around one call, the outermost that tells anything."""
    return next((seen for seen in candidates if seen.messages or logged(world, seen)), None)
