"""Tasks that are said to be above each other. Rare and wrong, so all of a circle are judged together: whatever came
first, the same one of them has no parent. What a person said goes before what the rules found."""

from collections.abc import Iterable

from msgspec import Struct

from ramify.linking import adoption, corrected
from ramify.linking.mesh.names import PROTOCOL
from ramify.linking.world import World, key
from ramify.model.entity import Task
from ramify.model.link import Link

Kin = dict[str, list["Edge"]]
"""Tasks with what is said to be above each of them, the word that counts most first."""


class Edge(Struct, frozen=True, order=True):
    found: bool  # by the rules; a person's word goes first
    doubt: float
    at: int
    child: str
    parent: str


def attach(world: World, task: Task, link: Link | None) -> None:
    """Under the parent that was found; where that leads in a circle, it only refers to it, until it no longer does."""
    taken = adoption.put(world, task, link)
    note(world, task, not taken)
    refer(world, task, None if taken else link)


def refer(world: World, task: Task, link: Link | None) -> None:
    refers = () if link is None else (Link("refers", link.parent, link.rule, link.certainty, evidence=link.evidence),)
    if refers != task.refers:
        task.refers = refers
        world.save("tasks", task)


def note(world: World, task: Task, is_refused: bool) -> None:
    """For as long as something of it is refused, it is judged again whenever others are."""
    (world.mark if is_refused else world.unmark)(key("sam-circles", task.project), 0, task.id)


def refused(world: World, project: str) -> list[str]:
    return [id for _, id in world.span(key("sam-circles", project))]


def judge(world: World, tasks: Iterable[str]) -> list[Task]:
    """Of these, of those about whom people speak now, and of those that were refused before. Gives all that stand
    elsewhere now."""
    asked = dict.fromkeys(tasks)
    asked |= dict.fromkeys(sorted(child for table, child in world.dirty if table == "corrections"))
    asked |= dict.fromkeys(child for id in tuple(asked) for child in world.corrected_under(id))
    projects = {task.project for id in asked if (task := world.task(id)) is not None}
    before = [id for project in sorted(projects) for id in refused(world, project)]
    moved: list[Task] = []
    judged: set[str] = set()
    for id in (*asked, *before):
        task = world.task(id)
        if task is None or task.protocol != PROTOCOL or id in judged:
            continue
        kin = above(world, id)
        if any(edge.parent == id for edges in kin.values() for edge in edges):
            judged.update(kin)
            moved += arrange(world, kin)
        elif id in before:
            was = task.parent
            attach(world, task, task.found)
            moved += [task] if task.parent != was else []
    return moved


def above(world: World, task: str) -> Kin:
    """Everybody who may be above it, and itself."""
    kin: Kin = {}
    waiting = [task]
    while waiting:
        one = world.task(waiting.pop())
        if one is not None and one.protocol == PROTOCOL and one.id not in kin:
            kin[one.id] = edges_of(world, one)
            waiting += [edge.parent for edge in kin[one.id]]
    return kin


def edges_of(world: World, task: Task) -> list[Edge]:
    said = world.correction(task.id)
    if said is not None and said.act == "unlink":
        return []
    edges: list[Edge] = []
    if said is not None and (word := corrected.link_of(world, said)[0]) is not None and world.task(word.parent) is not None:
        edges.append(Edge(False, 0, said.at, task.id, word.parent))
    if task.found is not None:
        edges.append(Edge(True, -task.found.certainty, task.opened, task.id, task.found.parent))
    return edges


def arrange(world: World, kin: Kin) -> list[Task]:
    """The surest and oldest links first: one that closes a circle is not taken."""
    rows = [row for id in kin if (row := world.task(id)) is not None]
    before = {row.id: row.parent for row in rows}
    taken: dict[str, str] = {}
    for edge in sorted(edge for edges in kin.values() for edge in edges):
        if edge.child not in taken and not adoption.leads_to(taken, edge.parent, edge.child):
            taken[edge.child] = edge.parent
    if any(row.parent != taken.get(row.id, "") for row in rows):
        for row in rows:
            adoption.detach(world, row)
        for id in dict.fromkeys((*taken, *kin)):
            adoption.again(world, id)
    for row in rows:
        edges = kin[row.id]
        note(world, row, bool(edges) and taken.get(row.id) != edges[0].parent)
        refer(world, row, row.found if edges and row.id not in taken else None)
    return [row for row in rows if row.parent != before[row.id]]
