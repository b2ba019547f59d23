"""The sums of each day, by difference: what the changed rows added before is taken away, what they add now is added.

A sum is a function of the rows, and so of the log; how the rows came to be what they are does not matter. `world.counted`
is what each row that was looked at added when the batch began.
"""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from ramify.linking.world import World
from ramify.model import ids
from ramify.model.share import COUNTED, UNKNOWN, CallShare, Share, TaskShare, ToolShare, part_of, share_of
from ramify.model.tally import Tally, step_of
from ramify.model.usage import NOTHING, Usage

Key = tuple[str, int, str, str, str]  # project, day, kind, agent, name
Part = tuple[Key, Usage, str, int | None]  # what is added, how it ended and how long it took
Place = tuple[str, str]
Name = TypeVar("Name", str, int)


class Sum(Struct):
    """What is to be added to one tally."""

    count: int = 0
    usage: Usage = NOTHING
    outcomes: dict[str, int] = {}
    times: dict[int, int] = {}
    milliseconds: int = 0

    def add(self, sign: int, usage: Usage, status: str, lasted: int | None) -> None:
        self.count += sign
        if usage is not NOTHING:
            self.usage = self.usage + usage if sign > 0 else self.usage - usage
        self.outcomes[status] = self.outcomes.get(status, 0) + sign
        if lasted is not None:
            step = step_of(lasted)
            self.times[step] = self.times.get(step, 0) + sign
            self.milliseconds += sign * lasted


class Side:
    """The shares of rows as they were, or as they are now."""

    def __init__(self, world: World, now: bool) -> None:
        self._world = world
        self._now = now
        self._known: dict[Place, Share | None] = {}
        self._agents: dict[str, str] = {"": UNKNOWN}

    def share(self, place: Place) -> Share | None:
        if place not in self._known:
            row = self._world.get(*place)  # which also says what it added before
            self._known[place] = share_of(row) if self._now else self._world.counted.get(place)
        return self._known[place]

    def agent(self, task: str) -> str:
        known = self._agents.get(task)
        if known is None:
            found = self.share(("tasks", task))
            known = self._agents[task] = found.agent if isinstance(found, TaskShare) else UNKNOWN
        return known

    def weight(self, call: Place) -> tuple[object, ...]:
        """What the shares of its tools rest on."""
        share = self.share(call)
        return (share.task, self.agent(share.task), share.usage, share.uses) if isinstance(share, CallShare) else ()

    def of(self, share: Share | None) -> list[Part]:
        match share:
            case None:
                return []
            case CallShare():
                key = (share.project, share.day, "calls", self.agent(share.task), share.model)
                return [(key, share.usage, share.status, share.milliseconds)]
            case ToolShare():
                key, usage, status, lasted = self._of_tool(share)
                all_tools = (share.project, share.day, "uses", key[3], "")  # names may be many
                return [(key, usage, status, lasted), (all_tools, NOTHING, status, lasted)]
            case TaskShare():
                parts: list[Part] = []
                if share.counted:
                    parts.append(((share.project, share.day, "tasks", share.agent, share.kind), NOTHING, share.status, share.milliseconds))
                if share.extra != NOTHING:
                    parts.append(((share.project, share.day, "extra", share.agent, UNKNOWN), share.extra, "", None))
                return parts

    def _of_tool(self, share: ToolShare) -> Part:
        """The tokens of a call are divided among the tools that it asked for."""
        call = self.share(("calls", share.call)) if share.call else None
        asked = call if isinstance(call, CallShare) else None
        usage = NOTHING
        if asked is not None and share.native in asked.uses:
            usage = part_of(asked.usage, asked.uses.index(share.native), len(asked.uses))
        agent = self.agent(share.task or (asked.task if asked else ""))
        return (share.project, share.day, "tools", agent, share.name), usage, share.status, share.milliseconds


def settle(world: World) -> None:
    """Once for all that came together, when everything else is decided."""
    before, after = Side(world, now=False), Side(world, now=True)
    sums: dict[Key, Sum] = {}
    touched = _touched(world, before, after)
    for place in touched:
        was, now = before.of(before.share(place)), after.of(after.share(place))
        if was == now:
            continue  # what else the row says is no matter here
        for sign, parts in ((-1, was), (1, now)):
            for key, usage, status, lasted in parts:
                found = sums.get(key) or sums.setdefault(key, Sum())
                found.add(sign, usage, status, lasted)
    for place in touched:
        world.count(place, after.share(place))
    world.gather("tallies", map(_id, sums))
    for key, found in sums.items():
        _put(world, key, found)


def _touched(world: World, before: Side, after: Side) -> dict[Place, None]:
    """What changed, and what rests on it: a tool's share on its call's, both on the type of their task's agent."""
    found = {place: None for place in world.dirty if place[0] in COUNTED}
    for place in [place for place in found if place[0] == "tasks"]:
        if before.share(place) is not None and before.agent(place[1]) != after.agent(place[1]):
            for table in ("calls", "tools"):
                found |= {(table, row.id): None for row in world.loader.owned(table, place[1])}
    for place in [place for place in found if place[0] == "calls"]:
        if (_uses(before.share(place)) or _uses(after.share(place))) and before.weight(place) != after.weight(place):
            found |= {("tools", tool): None for side in (before, after) for tool in _tools(world, side, place)}
    return found


def _uses(share: Share | None) -> bool:
    return isinstance(share, CallShare) and bool(share.uses)


def _tools(world: World, side: Side, place: Place) -> list[str]:
    share, row = side.share(place), world.call(place[1])
    if not isinstance(share, CallShare) or row is None:
        return []
    return [ids.tool_call_id(row.project, row.session, native) for native in share.uses]


def _id(key: Key) -> str:
    return ids.short("tally", *map(str, key))


def _put(world: World, key: Key, found: Sum) -> None:
    id = _id(key)
    row = world.get("tallies", id)
    before = row if isinstance(row, Tally) else Tally(id, *key)
    times = _added(before.times, found.times)
    now = Tally(
        id, *key, before.count + found.count, before.usage + found.usage, tuple(_added(before.outcomes, found.outcomes)),
        bytes(step for step, _ in times), tuple(count for _, count in times), before.milliseconds + found.milliseconds,
    )  # fmt: skip
    if not now.count:
        world.drop("tallies", id)
    elif now != before:
        world.save("tallies", now)


def _added(before: Iterable[tuple[Name, int]], more: dict[Name, int]) -> list[tuple[Name, int]]:
    sums = dict(before)
    for name, count in more.items():
        sums[name] = sums.get(name, 0) + count
    return sorted((name, count) for name, count in sums.items() if count)
