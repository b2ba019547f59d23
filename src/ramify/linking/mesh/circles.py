"""Tasks that are said to be above each other. Rare and wrong, so all of a circle are judged together: whichever came
first, the same one of them has no parent."""

from collections.abc import Iterable

from ramify.linking import adoption
from ramify.linking.world import World, key
from ramify.model.entity import Task
from ramify.model.link import Link


def attach(world: World, task: Task, link: Link | None) -> None:
    """Under the parent that was found; where that leads in a circle, it only refers to it, until it no longer does."""
    taken = adoption.put(world, task, link)
    place = key("sam-circles", task.project)
    (world.unmark if taken else world.mark)(place, 0, task.id)
    refers = () if taken or link is None else (Link("refers", link.parent, link.rule, link.certainty, evidence=link.evidence),)
    if refers != task.refers:
        task.refers = refers
        world.save("tasks", task)


def refused(world: World, project: str) -> list[str]:
    return [id for _, id in world.span(key("sam-circles", project))]


def judge(world: World, tasks: Iterable[str]) -> list[Task]:
    """Of these, and of those that were refused before. Gives all that may stand elsewhere now."""
    asked = dict.fromkeys(tasks)
    projects = {task.project for id in asked if (task := world.task(id)) is not None}
    before = [id for project in sorted(projects) for id in refused(world, project)]
    moved: list[Task] = []
    judged: set[str] = set()
    for id in (*asked, *before):
        task = world.task(id)
        if task is None or id in judged:
            continue
        ring = ring_of(world, task)
        judged.update(one.id for one in ring)
        if ring:
            moved += break_open(world, ring)
        elif id in before:
            attach(world, task, task.found)
            moved.append(task)
    return moved


def ring_of(world: World, task: Task) -> list[Task]:
    """The circle that its links lead back to it by; empty where they do not."""
    ring: list[Task] = []
    passed: set[str] = set()
    one: Task | None = task
    while one is not None and one.id not in passed:
        passed.add(one.id)
        ring.append(one)
        one = world.task(one.found.parent) if one.found is not None else None
    return ring if one is task else []


def break_open(world: World, ring: list[Task]) -> list[Task]:
    """The surest and oldest links first: the last one closes the circle, and is not taken."""
    ring.sort(key=lambda one: (-one.found.certainty if one.found else 0, one.opened, one.id))
    if all(one.parent for one in ring[:-1]) and not ring[-1].parent:
        return []
    links = [one.found for one in ring]
    for one in ring:
        adoption.put(world, one, None)
    for one, link in zip(ring, links, strict=True):
        attach(world, one, link)
    return ring
