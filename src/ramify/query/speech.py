"""What was said in a task, whoever told of it: the wire's calls and the reports, each thing once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from ramify.model.entity import Call, Note, Task
from ramify.query import kept, told
from ramify.query.content import AT_ONCE, Content
from ramify.query.histories import history_of
from ramify.query.said import messages_of, reasoning_of
from ramify.storage.base import Ask, Store

Shape = dict[str, Any]


class Leftover(Struct):
    """Results of a task that came back with the next prompt, because a person interrupted it."""

    task: str
    call: Call


class Thought(Struct):
    """Reasoning that was told by itself, beside messages."""

    note: Note


Unit = Call | told.Unit | Leftover | Thought


def moment(unit: Unit) -> int:
    match unit:
        case Call():
            return unit.started
        case Leftover():
            return unit.call.started
        case Thought():
            return unit.note.at
        case _:
            return unit.at


def task_of(unit: Unit) -> str:
    match unit:
        case told.Unit():
            return unit.rows[0].line
        case Thought():
            return unit.note.task
        case _:
            return unit.task


def said_with(unit: Unit) -> list[str]:
    """The observations in which its messages stand."""
    match unit:
        case Call():
            return [*([] if unit.attempt_of else [unit.request]), unit.response]
        case Leftover():
            return [unit.call.request]
        case Thought():
            return []
        case _:
            return [] if unit.rows[0].protocol else [row.observation for row in unit.rows]


def thought_with(unit: Unit) -> list[str]:
    """Those in which its reasoning does."""
    match unit:
        case Call():
            return [unit.response]
        case told.Unit():
            return [] if unit.rows[0].protocol else [row.observation for row in unit.rows if row.answer]
        case _:
            return []


def leftovers(store: Store, tasks: Sequence[Task]) -> list[Leftover]:
    found: list[Leftover] = []
    for task in tasks:
        first = _next_opening(store, task)
        parent = store.load("calls", first.parent) if first else None
        if first is not None and isinstance(parent, Call) and parent.task == task.id:
            found.append(Leftover(task.id, first))
    return found


def _next_opening(store: Store, task: Task) -> Call | None:
    """The call with which the next root task of the conversation began."""
    if task.kind != "root":
        return None
    where = {"conversation": task.conversation, "kind": "root"}
    following = store.page("tasks", Ask("opened", where, 1, (task.opened, task.id), ascending=True))
    first = store.load("calls", following[0].first) if following and isinstance(following[0], Task) else None
    return first if isinstance(first, Call) and first.relation != "seen" else None


class Reading(Struct):
    """What is read of each unit, in which observations it stands, and to whom that is told before."""

    read: Callable[[Sequence[Unit], int, dict[str, Any]], list[Shape]]
    stands_in: Callable[[Unit], list[str]]
    expect: Callable[[Iterable[str]], None]


class Speech:
    """Read for one question; what the wire shows of a task is remembered until it is answered."""

    def __init__(self, store: Store, histories: bool = True) -> None:
        self.histories = histories  # what models were given, where it is kept: long
        self.content = Content(store)
        self.store = self.content.store
        self._wire: dict[str, told.Wire] | None = None

    def messages(self, units: Sequence[Unit], index: int, tasks: dict[str, Any]) -> list[Shape]:
        unit = units[index]
        if isinstance(unit, Call):
            return self._own(unit, _task(tasks, unit.task))
        if isinstance(unit, Leftover):
            return self._left(unit)
        if isinstance(unit, Thought):
            return []
        if unit.rows[0].protocol:
            return [kept.message_shape(row) for row in unit.rows]
        if self._wire is None:
            self._wire = self._read_wire(units, tasks)
            for earlier in units[:index]:  # equal words are matched one by one, from the beginning
                if isinstance(earlier, told.Unit):
                    told.shapes(self.store, earlier, None, self._wire.get(task_of(earlier)))
        return told.shapes(self.store, unit, _task(tasks, task_of(unit)), self._wire.get(task_of(unit)))

    def _own(self, call: Call, task: Task | None) -> list[Shape]:
        """Without results that belong to the task before: its tools asked for them."""
        said = messages_of(self.content, call, task)
        parent = self.store.load("calls", call.parent) if task is not None and task.first == call.id else None
        if isinstance(parent, Call) and parent.task != call.task:
            said = [message for message in said if message["author"] != "tool"]
        return said

    def _left(self, unit: Leftover) -> list[Shape]:
        said = messages_of(self.content, unit.call, None)
        return [{**message, "task": unit.task} for message in said if message["author"] == "tool"]

    def reasoning(self, units: Sequence[Unit], index: int, tasks: dict[str, Any]) -> list[Shape]:
        unit = units[index]
        if isinstance(unit, Call):
            return reasoning_of(self.content, unit, _task(tasks, unit.task))
        if isinstance(unit, Leftover):
            return []
        if isinstance(unit, Thought):
            return [kept.reasoning_shape(unit.note, history_of(self.store, unit.note) if self.histories else None)]
        if unit.rows[0].protocol:
            return []
        return told.reasoning(self.store, unit, _task(tasks, task_of(unit)))

    def _read_wire(self, units: Sequence[Unit], tasks: dict[str, Any]) -> dict[str, told.Wire]:
        """Only tasks of which both tell need it. What the client says between two turns comes with the next prompt."""
        reported = {task_of(unit) for unit in units if isinstance(unit, told.Unit)}
        found: dict[str, list[Shape]] = {}
        both = [unit for unit in units if isinstance(unit, Call | Leftover) and unit.task in reported]
        for number, unit in enumerate(both):
            if number % AT_ONCE == 0:
                self.content.expect(id for one in both[number : number + AT_ONCE] for id in said_with(one))
            call = unit if isinstance(unit, Call) else unit.call
            found.setdefault(unit.task, []).extend(messages_of(self.content, call, _task(tasks, call.task)))
        return {task: told.Wire(messages) for task, messages in found.items()}


def _task(tasks: dict[str, Any], id: str) -> Task | None:
    task = tasks.get(id)
    return task if isinstance(task, Task) else None
