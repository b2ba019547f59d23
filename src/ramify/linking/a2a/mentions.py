"""Who names whom: every place in which a task's messages name another task, each kept once, as it was seen first.

A mention says nothing yet about parents and children; `parents.py` judges that from all of them together.
"""

import msgspec
from msgspec import Struct

from ramify.linking.a2a import subject
from ramify.linking.a2a.facts import Facts, Mark, TaskEvent
from ramify.linking.a2a.messages import Saying
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.a2a_event import MessageReplied, Sign, Spoken, StatusSaid, TaskMade, TaskShown
from ramify.model.entity import Sheet

REFERRING = ("agent", "maker", "other")
ASKING = ("maker", "parent", "span")  # of the request that made the subject


class Mention(Struct):
    """`subject` names `target`, an id without an address.

    `kind` says how: an `agent`'s message; the user's message that was the `maker` of the subject, or any `other` one; a
    stamp of the sender or of its own agent (`parent`); the `span` inside which the subject was asked for. A span is known to be somebody's
    where a task says that it is its own (`self`), or where a sender stamped both (`stamp`: `parent` is whose it is).
    """

    id: str
    project: str
    subject: str
    agent: str
    target: str
    kind: str
    at: int = 0
    ref: str = ""
    observation: str = ""
    index: int = 0  # in the list that named it
    title: str = ""
    titled: Mark = (0, "")
    parent: str = ""
    refers: str = ""  # the task that it merely refers to, as judged


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Mention).decode


def mention_id(subject: str, target: str, kind: str) -> str:
    return ids.short("mention", subject, target, kind)


def load(world: World, id: str) -> Mention | None:
    row = world.get("sheets", id)
    return _decode(row.state) if isinstance(row, Sheet) else None


def keep(world: World, mention: Mention) -> None:
    world.save("sheets", Sheet(mention.id, "a2a-mention", mention.at, mention.ref, _encode(mention)))


def naming(world: World, project: str, target: str) -> list[Mention]:
    """Everybody who names an id."""
    return _all(world, key("a2a-named", project, target))


def named_by(world: World, task: str) -> list[Mention]:
    return _all(world, key("a2a-names", task))


def asked_by(world: World, task: str) -> list[Mention]:
    """What the request that made it names: few, however many children it names later."""
    return _all(world, key("a2a-asked", task))


def _all(world: World, place: int) -> list[Mention]:
    return [one for _, ref in world.span(place) if (one := load(world, ref)) is not None]


# -- found in events ---------------------------------------------------------------------------------------------------


def found_in(facts: Facts, event: TaskEvent, sayings: list[Saying]) -> list[Mention]:
    found = [one for saying in sayings for one in _referred(facts, saying, is_maker(event, saying[2]))]
    sign = event.sign
    match event:
        case TaskMade() | MessageReplied():
            found += _stamps(facts, sign, event.parent, event.span)
        case TaskShown():
            first = event.history[0] if event.history and event.history[0].role == "user" else None
            parent = event.parent or (first.parent if first is not None else "")
            if parent:
                found.append(_mention(facts, sign, parent, "parent"))
            if event.span:
                found.append(_mention(facts, sign, event.span, "self"))
        case StatusSaid() if event.parent:
            found.append(_mention(facts, sign, event.parent, "parent"))
        case _:
            pass
    return found


def is_maker(event: TaskEvent, said: Spoken) -> bool:
    return isinstance(event, TaskMade | MessageReplied) and event.message is said


def _referred(facts: Facts, saying: Saying, maker: bool) -> list[Mention]:
    sign, _, said = saying
    kind = "agent" if said.role == "agent" else "maker" if maker else "other"
    found: list[Mention] = []
    for index, target in enumerate(said.references):
        if target != facts.native:
            one = _mention(facts, sign, target, kind)
            one.index = index
            if said.title:
                one.title, one.titled = said.title, (sign.at, sign.ref)
            found.append(one)
    if said.role == "agent" and said.span:
        found.append(_mention(facts, sign, said.span, "self"))
    if said.role == "agent" and said.parent:
        found.append(_mention(facts, sign, said.parent, "parent"))
    return found


def _stamps(facts: Facts, sign: Sign, parent: str, span: str) -> list[Mention]:
    found = [_mention(facts, sign, parent, "parent")] if parent else []
    if span:
        found.append(_mention(facts, sign, span, "span"))
    if span and parent:
        found.append(_mention(facts, sign, span, "stamp"))
        found[-1].parent = parent
    return found


def _mention(facts: Facts, sign: Sign, target: str, kind: str) -> Mention:
    id = mention_id(facts.id, target, kind)
    return Mention(id, facts.project, facts.id, facts.agent, target, kind, sign.at, sign.ref, sign.observation)


# -- kept --------------------------------------------------------------------------------------------------------------


def add(world: World, new: Mention) -> bool:
    """Whether it says anything that was not known."""
    known = load(world, new.id)
    if known is None:
        subject.own(world, new.subject, "sheets", new.id)
        world.mark(key("a2a-names", new.subject), 0, new.id)
        world.mark(key("a2a-named", new.project, new.target), 0, new.id)
        if new.kind in ASKING:
            world.mark(key("a2a-asked", new.subject), 0, new.id)
        keep(world, new)
        return True
    changed = False
    if (new.at, new.ref) < (known.at, known.ref):
        known.at, known.ref, known.observation, known.index = new.at, new.ref, new.observation, new.index
        known.parent = new.parent or known.parent
        changed = True
    if new.title and (not known.title or new.titled < known.titled):
        known.title, known.titled = new.title, new.titled
        changed = True
    if changed:
        keep(world, known)
    return changed


def forget(world: World, task: str) -> list[Mention]:
    """A task's mentions, before it is read again."""
    gone = named_by(world, task)
    for one in gone:
        world.unmark(key("a2a-names", task), 0, one.id)
        world.unmark(key("a2a-named", one.project, one.target), 0, one.id)
        if one.kind in ASKING:
            world.unmark(key("a2a-asked", task), 0, one.id)
        if one.refers:
            world.unmark(key("a2a-refers", task), 0, one.id)
    return gone
