"""Agents that nobody asked for: 2.0 starts some to fill the cache. Their calls are helpers, and there is no task.

2.0.26 writes their prompt; 2.0.42 does not, so that an agent of its kind which gave one answer, used no tool and is
told of by nobody is taken for one.
"""

import re

from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Message

OLD_AGENT = re.compile(r"[0-9a-f]{8}")


def put(world: World, call: Call) -> bool:
    """Whether a reported call is one; it may turn out that somebody asked for it."""
    warm = bool(call.agent) and (bool(world.find(_line_key(call.project, call.agent))) or _is_unasked(world, call))
    if warm != (call.utility == "warmup"):
        call.utility = "warmup" if warm else ""
        world.save("calls", call)
    return warm


def _is_unasked(world: World, call: Call) -> bool:
    if call.uses or OLD_AGENT.fullmatch(call.agent) is None:
        return False
    task = world.task(ids.agent_task_id(call.project, call.session, call.agent))
    told = task is not None and task.stated is not None
    named = world.find(key("agent", call.project, call.session, call.agent))
    return not told and not named and [ref for _, ref in world.find(_answers_key(call))] == [call.id]


def note(world: World, was: Call, call: Call) -> None:
    """Keeps the answers of each such agent together."""
    if (was.session, was.agent) == (call.session, call.agent):
        return
    for one in (was, call):
        if OLD_AGENT.fullmatch(one.agent):
            place = world.add if one is call else world.remove
            place(_answers_key(one), 0, one.id)
            wake(world, one.project, one.session, one.agent)


def wake(world: World, project: str, session: str, agent: str) -> None:
    """Something more is known of an agent."""
    if OLD_AGENT.fullmatch(agent):
        for _, ref in world.find(key("answers-of", project, session, agent)):
            world.unplaced[ref] = None


def label(world: World, row: Message, side: str) -> None:
    world.add(_line_key(row.project, side), 0, row.id)
    _place_line_again(world, row)


def unlabel(world: World, row: Message, side: str) -> None:
    world.remove(_line_key(row.project, side), 0, row.id)
    _place_line_again(world, row)


def _place_line_again(world: World, row: Message) -> None:
    waiting, passed = [row], set[str]()
    while waiting:
        above = waiting.pop()
        passed.add(above.id)  # messages that name each other as the one before are a ring
        world.unplaced[ids.seen_call_id(above.project, above.answer)] = None
        for _, ref in world.find(following(above.project, above.native)) if above.native else ():
            below = world.message(ref)
            waiting += [below] if below is not None and below.start == row.start and below.id not in passed else []


def following(project: str, native: str) -> int:
    """The messages that name one as that before them."""
    return key("following", project, native)


def _line_key(project: str, side: str) -> int:
    return key("warm-up", project, side)


def _answers_key(call: Call) -> int:
    return key("answers-of", call.project, call.session, call.agent)
