"""From events of A2A to rows. Connections are read in order; how they stand to each other does not matter here, because
everything that is known of a task is put together without an order.

A connection whose frames came out of order is read again, and the tasks that it tells of are put together again from
all connections that tell of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ramify.linking import adoption
from ramify.linking.a2a import mentions, messages, rows, subject
from ramify.linking.a2a.artifacts import Artifacts
from ramify.linking.a2a.facts import Facts, TaskEvent, merge
from ramify.linking.a2a.family import Family, references_of
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.a2a_event import AgentShown, ChunkCame, Event, StatusSaid, TaskShown
from ramify.model.entity import Agent, Sheet, Task


class Connection(Struct, frozen=True):
    """Whose frames they are."""

    id: str
    project: str
    agent: str


ReadAgain = Callable[[str], tuple[Connection, Sequence[Event]] | None]


class Fold:
    """Of one batch. `read_again` gives everything that a connection says, by its id."""

    def __init__(self, world: World, read_again: ReadAgain) -> None:
        self.world = world
        self.read_again = read_again
        self.family = Family(world)
        self.facts: dict[str, Facts] = {}
        self.artifacts: dict[str, Artifacts] = {}
        self.said: dict[str, dict[str, None]] = {}  # messages that are new, by task
        self.noted: set[tuple[str, str]] = set()
        self.doubted: dict[str, None] = {}  # tasks that are put together again, when all connections have been heard

    # -- taking in -----------------------------------------------------------------------------------------------------

    def take(self, connection: Connection, events: Iterable[Event]) -> None:
        """What a connection said, after all that it had said before."""
        for event in events:
            if isinstance(event, AgentShown):
                note_agent(self.world, connection, event)
                continue
            facts = self._facts_of(connection, event)
            self._note(facts.id, connection.id)
            self._tell(facts, event, connection.id)

    def take_again(self, connection: Connection, events: Sequence[Event]) -> None:
        """All that a connection says, where something of it was not known in its order."""
        for _, task in self.world.span(key("a2a-tells", connection.id)):
            self.doubted[task] = None
        for event in events:
            empty = subject.new_facts(connection.project, connection.agent, event)
            if isinstance(event, AgentShown):
                note_agent(self.world, connection, event)
            elif empty is not None:
                self._note(empty.id, connection.id)
                self.doubted[empty.id] = None

    def _note(self, task: str, connection: str) -> None:
        if (task, connection) not in self.noted:
            self.noted.add((task, connection))
            self.world.mark(key("a2a-tells", connection), 0, task)
            self.world.mark(key("a2a-told", task), 0, connection)

    def _facts_of(self, connection: Connection, event: TaskEvent) -> Facts:
        empty = subject.new_facts(connection.project, connection.agent, event)
        assert empty is not None
        return self._facts(empty.id) or self.facts.setdefault(empty.id, empty)

    def _facts(self, task: str) -> Facts | None:
        if task not in self.facts:
            known = subject.load(self.world, task)
            if known is None:
                return None
            self.facts[task] = known
        return self.facts[task]

    def _tell(self, facts: Facts, event: TaskEvent, connection: str) -> None:
        made, ended, first = facts.made, facts.ended, facts.first
        new = not facts.shown
        merge(facts, event)
        if new:
            self._appear(facts)
        elif facts.first != first:
            self.family.made(facts.id)  # it may be older than who names it, and than whom it names
        if facts.made != made:
            self.family.made(facts.id)
        if isinstance(event, StatusSaid | TaskShown) and event.status is not None:
            self._mark_state(facts, event)
        sayings = messages.sayings(event)
        for saying in sayings:
            if id := messages.put(self.world, facts, saying):
                self.said.setdefault(facts.id, {})[id] = None
        for one in mentions.found_in(facts, event, sayings):
            if mentions.add(self.world, one):
                self.family.mentioned(one)
        if isinstance(event, ChunkCame | TaskShown):
            self._artifacts(facts).take(event, connection)
        if facts.ended != ended and (event.sign.at, event.sign.ref) < facts.snapped:
            self._artifacts(facts).judge_again()
        self.family.touched[facts.id] = None

    def _appear(self, facts: Facts) -> None:
        """What is judged looks at what is kept."""
        subject.keep(self.world, facts)
        if facts.native:
            self.world.mark(key("a2a-shown", facts.project, facts.native), 0, f"{facts.id} {facts.agent}")
            self.family.appeared(facts.project, facts.native)
        else:
            self.family.judge_task(facts.id)

    def _mark_state(self, facts: Facts, event: StatusSaid | TaskShown) -> None:
        status, sign = event.status, event.sign
        assert status is not None
        self.world.mark(key("a2a-states", facts.id), sign.at, f"{sign.ref} {status.state} {status.time}")
        self.family.moved(facts.project, facts.native, sign.at)

    def _artifacts(self, facts: Facts) -> Artifacts:
        if facts.id not in self.artifacts:
            self.artifacts[facts.id] = Artifacts(self.world, facts, self._events_of)
        return self.artifacts[facts.id]

    def _events_of(self, connection: str) -> Sequence[Event]:
        found = self.read_again(connection)
        return found[1] if found is not None else ()

    # -- again ---------------------------------------------------------------------------------------------------------

    def _put_together_again(self, task: str) -> None:
        self._forget(task)
        told = key("a2a-told", task)
        for _, connection in self.world.span(told):
            found = self.read_again(connection)
            mine = [event for event in found[1] if _is_about(found[0], event, task)] if found is not None else []
            if found is None or not mine:
                self.world.unmark(told, 0, connection)
                self.world.unmark(key("a2a-tells", connection), 0, task)
                continue
            for event in mine:
                assert not isinstance(event, AgentShown)
                self._tell(self._facts_of(found[0], event), event, connection)

    def _forget(self, task: str) -> None:
        facts = self._facts(task)
        if facts is None:
            return
        world = self.world
        for one in mentions.forget(world, task):
            self.family.mentioned(one)
        for place in (key("a2a-states", task), key("a2a-artifacts", task), key("a2a-pushed", task)):
            for at, ref in world.span(place):
                world.unmark(place, at, ref)
        self.family.touched[task] = None
        if facts.native:
            world.unmark(key("a2a-shown", facts.project, facts.native), 0, f"{task} {facts.agent}")
            self.family.appeared(facts.project, facts.native)
            self.family.moved(facts.project, facts.native, 0)
        self.family.made(task)
        subject.clear(world, task)
        self.facts.pop(task, None)
        self.artifacts.pop(task, None)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Links of everything that became known, then the tasks themselves."""
        for task in self.doubted:
            self._put_together_again(task)
        for facts in self.facts.values():
            if facts.shown:
                subject.keep(self.world, facts)
        for artifacts in self.artifacts.values():
            artifacts.keep()
        self.family.settle()
        waiting = list(self.family.touched)
        while waiting:
            refused = [task for task in waiting if not self._put(task)]
            if len(refused) == len(waiting):
                break  # a person's word stands in the way
            waiting = refused

    def _put(self, task: str) -> bool:
        facts = self._facts(task)
        row = self.world.task(task)
        link = self.family.links.get(task, row.found if row is not None else None)
        if facts is None and link is None:
            adoption.remove(self.world, task)
            return True
        row = row or Task(task, protocol="a2a")
        before = adoption.last_sign(row)
        title = self.family.titles.get(task, row.native.get("referencedWorkflow", ""))
        if facts is None:
            project, native = self.family.name_of(task)
            rows.describe_unresolved(row, project, native, title, self.family.orders.get(task, row.opened))
        else:
            rows.describe(row, facts, title)
        row.place = self.family.orders.get(task, row.place)
        if adoption.last_sign(row) < before:
            adoption.withdraw(self.world, row)
        row.refers = references_of(self.world, row)
        if facts is not None and facts.native and link is not None:
            self.world.aliases[subject.unresolved_id(facts.project, facts.native)] = task
        return adoption.put(self.world, row, link)


def attribute(world: World, said: Mapping[str, Iterable[str]]) -> None:
    """Who asked depends on whose child a task is, and that may be a person's word: all that moved are looked at."""
    for row in [row for (table, _), row in world.dirty.items() if table == "tasks" and isinstance(row, Task)]:
        _attribute(world, row, said.get(row.id, ()))


def attribute_moved(world: World) -> None:
    """Spans may have told whose child a task is when everything else had been told."""
    for id in list(world.moved):
        if (row := world.task(id)) is not None:
            _attribute(world, row, ())


def _attribute(world: World, row: Task, said: Iterable[str]) -> None:
    facts = subject.load(world, row.id) if row.protocol == "a2a" else None
    if facts is None:
        return
    author = "agent" if row.parent else "human" if facts.prompt is not None else "unknown"
    if row.prompt_author != author:
        row.prompt_author = author
        world.save("tasks", row)
    before = facts.attributed
    messages.attribute(world, facts, row, said)
    if facts.attributed != before:
        subject.keep(world, facts)


def _is_about(connection: Connection, event: Event, task: str) -> bool:
    facts = subject.new_facts(connection.project, connection.agent, event)
    return facts is not None and facts.id == task


def note_agent(world: World, connection: Connection, event: AgentShown) -> None:
    """The newest card."""
    id = ids.short("agent", connection.project, "a2a", connection.agent)
    known = world.get("sheets", f"a2a:{id}")
    if isinstance(known, Sheet) and (known.at, known.ref) >= (event.sign.at, event.sign.ref):
        return
    world.save("sheets", Sheet(f"a2a:{id}", "a2a-agent", event.sign.at, event.sign.ref))
    card: dict[str, Any] = msgspec.json.decode(event.card)
    world.save("agents", Agent(id, connection.project, "a2a", connection.agent, event.url, {"card": card}))
