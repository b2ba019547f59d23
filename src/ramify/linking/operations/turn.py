"""One event being folded: whose it is, the row that lists it, and the subjects that it has to do with."""

from msgspec import Struct, field

from ramify.linking.operations.evidence import Claim
from ramify.linking.operations.subject import Subject, place, read
from ramify.linking.world import World
from ramify.model.entity import EventSession, Logged
from ramify.model.operation_event import Heading


class Turn(Struct):
    """Every subject is read once and stays the same object until all is written back."""

    world: World
    session: EventSession
    scope: str
    heading: Heading
    logged: Logged
    subjects: dict[str, Subject | None] = field(default_factory=dict)
    touched: dict[str, Subject] = field(default_factory=dict)
    gone: list[Subject] = field(default_factory=list)

    def get(self, id: str) -> Subject | None:
        """The one that it turned out to be."""
        while id:
            if id not in self.subjects:
                self.subjects[id] = read(self.world, id)
            found = self.subjects[id]
            if found is None or not found.into:
                return found
            id = found.into
        return None

    def open(self, subject: Subject) -> Subject:
        self.subjects[subject.id] = subject
        self.world.mark(place("sheets", self.scope), subject.seq, subject.id)
        self.touch(subject)
        return subject

    def touch(self, subject: Subject) -> None:
        self.touched[subject.id] = subject

    def at(self, where: int, limit: int = 1_000_000, newest: bool = False) -> list[Subject]:
        """The subjects that are marked there, oldest first, each once."""
        marked = self.world.span(where, limit=limit, newest=newest)
        found = {one.id: one for _, ref in marked if (one := self.get(ref)) is not None}
        return list(found.values())

    def known_as(self, agent: str, native: str) -> list[Subject]:
        """Every task that has this id with this agent."""
        marked = self.at(place("known-as", self.scope, agent, native))
        return [one for one in marked if native in (one.work, one.transport)]

    def flag(self, *words: str) -> None:
        self.logged.flags = tuple(sorted({*self.logged.flags, *words}))

    def claim(self, status: str, native: str) -> Claim:
        return Claim(status, native, self.logged.seq, self.heading.at, self.logged.id)


def flag_event(world: World, id: str, word: str) -> None:
    """An earlier event, if it is still listed."""
    row = world.get("events", id) if id else None
    if isinstance(row, Logged) and word not in row.flags:
        row.flags = tuple(sorted({*row.flags, word}))
        world.save("events", row)
