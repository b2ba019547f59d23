"""What was said in a task, whoever told of it: the wire's calls and the reports, each thing once."""

from collections.abc import Sequence
from typing import Any

from ramify.model.entity import Call, Task
from ramify.query import told
from ramify.query.content import Content
from ramify.query.said import messages_of, reasoning_of
from ramify.storage.base import Store

Shape = dict[str, Any]
Units = Sequence[Call | told.Unit]


class Speech:
    """Read for one question; what the wire shows of a task is remembered until it is answered."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.content = Content(store)
        self._wire: dict[str, told.Wire] | None = None

    def messages(self, units: Units, index: int, tasks: dict[str, Any]) -> list[Shape]:
        unit = units[index]
        if isinstance(unit, Call):
            return messages_of(self.content, unit, _task(tasks, unit.task))
        if self._wire is None:
            self._wire = self._read_wire(units, tasks)
            for earlier in units[:index]:  # equal words are matched one by one, from the beginning
                if not isinstance(earlier, Call):
                    told.shapes(self.store, earlier, None, self._wire.get(earlier.rows[0].line))
        line = unit.rows[0].line
        return told.shapes(self.store, unit, _task(tasks, line), self._wire.get(line))

    def reasoning(self, units: Units, index: int, tasks: dict[str, Any]) -> list[Shape]:
        unit = units[index]
        if isinstance(unit, Call):
            return reasoning_of(self.content, unit, _task(tasks, unit.task))
        return told.reasoning(self.store, unit, _task(tasks, unit.rows[0].line))

    def _read_wire(self, units: Units, tasks: dict[str, Any]) -> dict[str, told.Wire]:
        """Only tasks of which both tell need it."""
        reported = {unit.rows[0].line for unit in units if not isinstance(unit, Call)}
        found: dict[str, list[Shape]] = {}
        for unit in units:
            if isinstance(unit, Call) and unit.task in reported:
                found.setdefault(unit.task, []).extend(messages_of(self.content, unit, _task(tasks, unit.task)))
        return {task: told.Wire(messages) for task, messages in found.items()}


def _task(tasks: dict[str, Any], id: str) -> Task | None:
    task = tasks.get(id)
    return task if isinstance(task, Task) else None
