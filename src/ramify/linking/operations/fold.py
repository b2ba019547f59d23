"""One event of the log, folded: what it says is added to what is known, and the rows that follow are written."""

from ramify.linking.operations import identity, pairing, rehoming, repeated, sessions, sums
from ramify.linking.operations.believing import believe, judge
from ramify.linking.operations.evidence import add
from ramify.linking.operations.rows import counts, evidence_of, settle
from ramify.linking.operations.subject import Subject, alias, save_alias, shell_id
from ramify.linking.operations.turn import Turn
from ramify.linking.world import World
from ramify.model import ids
from ramify.model.entity import Agent
from ramify.model.operation_event import (
    RANKS,
    Answered,
    Asked,
    Cleared,
    Introduced,
    OperationEvent,
    Progressed,
    Pushed,
    Shown,
    Snapshots,
    Word,
)

SKEW = 5_000_000  # a sender's clock that is off by less is not worth a word


def tell(world: World, event: OperationEvent) -> list[str]:
    """Gives the observations that must be told once more, as events of this one's session."""
    heading = event.heading
    moved = rehoming.given_over(world, heading)
    session = sessions.session_of(world, heading)
    match event.said:
        case Cleared(reason):
            sessions.clear(world, session, heading, reason)
            return []
        case Introduced():
            introduce(world, event)
            return []
        case _:
            pass
    turn = sessions.taken(world, session, heading)
    sums.note_event(turn)
    rehoming.note(turn)
    fold(turn, event)
    settle(turn)
    sessions.keep_in_bounds(turn)
    return moved


def fold(turn: Turn, event: OperationEvent) -> None:
    if turn.heading.uri:
        introduce(turn.world, event)
    match event.said:
        case Asked():
            asked(turn)
        case Answered() as said:
            answered(turn, said)
        case Pushed() as said:
            pushed(turn, said)
        case Snapshots() as said:
            seen_again(turn, said)
        case Progressed() as said:
            progressed(turn, said)
        case Introduced() | Cleared() | Shown():
            pass


def introduce(world: World, event: OperationEvent) -> None:
    heading = event.heading
    uri = event.said.uri if isinstance(event.said, Introduced) else heading.uri
    id = ids.short("agent", heading.project, "adcp", heading.agent)
    known = world.get("agents", id)
    row = known if isinstance(known, Agent) else Agent(id, heading.project, "adcp", heading.agent)
    row.url = uri or row.url
    row.details = {**row.details, "protocol": heading.protocol or row.details.get("protocol", ""), "seen": heading.at}
    world.save("agents", row)


# -- calls -------------------------------------------------------------------------------------------------------------


def asked(turn: Turn) -> None:
    heading, subject = turn.heading, pairing.asked(turn)
    subject.asked = heading.sender
    involve(turn, identity.learn(turn, subject, heading.work, heading.transport))  # the caller goes on with work that it knows


def answered(turn: Turn, said: Answered) -> None:
    if said.bare:
        subject = pairing.came_back(turn)
        subject.bare = turn.claim(said.status or "unknown", said.native)
        measure(turn, subject, said)
        involve(turn, subject)
        return
    subject = pairing.answered(turn, said)
    measure(turn, subject, said)
    subject = identity.learn(turn, subject, said.work, said.transport)
    believe(turn, subject, "answer", said.status, said.native, of_work=not said.carried)
    involve(turn, subject)
    if said.raised and said.status == "unknown":
        identity.is_lost(turn, subject)


def measure(turn: Turn, subject: Subject, said: Answered) -> None:
    """From request to answer, by the caller's own clock."""
    sender = turn.heading.sender
    if said.milliseconds is not None:
        subject.milliseconds = said.milliseconds
    elif subject.asked and sender >= subject.asked and subject.milliseconds is None:
        subject.milliseconds = (sender - subject.asked) / 1000


def involve(turn: Turn, subject: Subject) -> None:
    """The event is part of the task's story."""
    heading = turn.heading
    turn.logged.subject = subject.id
    subject.active = max(subject.active, heading.at)
    subject.opened = min(subject.opened or heading.at, heading.at)
    subject.context = subject.context or heading.context
    subject.protocol = subject.protocol or (heading.protocol if heading.source == "client" else "")
    if heading.parent and not subject.parent:
        subject.parent = heading.parent
        native = heading.parent.rpartition("/")[2]
        for wanted in dict.fromkeys((heading.parent, native)):
            turn.world.mark(identity.wanted(turn.scope, wanted), subject.seq, subject.id)
    if heading.call and subject.shape == "call":
        identity.is_called(turn, subject, heading.call)
    turn.touch(subject)


def progressed(turn: Turn, said: Progressed) -> None:
    subject = alive(turn)
    involve(turn, subject)
    if not said.subtask:
        return
    part = identity.part_of(turn, subject.id, said.subtask)
    if part is None:
        heading = turn.heading
        part = turn.open(
            Subject(
                identity.part_id(subject.id, said.subtask), heading.project, turn.scope, heading.operation, heading.agent, subject.task_type, "part", said.subtask,
                turn.logged.seq, heading.at, heading.at, above=subject.id, evidence=heading.observation,
            )
        )  # fmt: skip
        identity.is_part(turn, part)
    part.active = max(part.active, turn.heading.at)
    believe(turn, part, "push", said.status, said.native, of_work=True)


def alive(turn: Turn) -> Subject:
    """Whose sign of life it is. A task that is named and not known yet is no call that ended before."""
    heading = turn.heading
    named = {of: native for of, native in (("work", heading.work), ("transport", heading.transport)) if native}
    if not named or pairing.under_way(turn) is not None:
        return pairing.running(turn)
    return identity.learn(turn, pushed_about(turn, named), heading.work, heading.transport)


# -- what agents tell --------------------------------------------------------------------------------------------------


def pushed(turn: Turn, said: Pushed) -> None:
    if is_repeated(turn, said):
        for one in meant(turn, said):
            turn.logged.subject = one.id
        return
    named = {word.of: word.id for word in reversed(said.words) if word.id}
    if not named:
        unnamed(turn, said)
    elif not turn.heading.operation:
        everywhere(turn, said.words, "push")
    else:
        carried(turn, said.words)
        subject = identity.learn(turn, pushed_about(turn, named), named.get("work", ""), named.get("transport", ""))
        for word in said.words:
            believe(turn, subject, "push", word.status, word.native, of_work=word.of == "work")
        subject.skew = skew(turn) or subject.skew
        involve(turn, subject)


def pushed_about(turn: Turn, named: dict[str, str]) -> Subject:
    """The call that it names, else the task of that operation, or a shell until its call is heard of."""
    heading = turn.heading
    if heading.call:
        return pairing.asked(turn)
    for native in named.values():
        for one in turn.known_as(heading.agent, native):
            if one.operation == heading.operation:
                return one
    native = next(iter(named.values()))
    id = shell_id(heading.project, turn.scope, heading.operation, heading.agent, native)
    subject = turn.open(
        Subject(
            id, heading.project, turn.scope, heading.operation, heading.agent, heading.task_type, "shell", "",
            turn.logged.seq, heading.at, heading.at, evidence=heading.observation,
        )
    )  # fmt: skip
    identity.is_shell(turn, subject)
    return subject


def carried(turn: Turn, words: tuple[Word, ...]) -> None:
    for word in words:
        if word.carries:
            identity.carries(turn, word.id, word.carries)


def unnamed(turn: Turn, said: Pushed) -> None:
    """A client tells of its call's state without an id. What a push without one is about, nobody can tell."""
    if not turn.heading.operation or not said.words:
        return
    subject = pairing.running(turn)
    for word in said.words:
        believe(turn, subject, "push", word.status, word.native, of_work=True)
    involve(turn, subject)


def is_repeated(turn: Turn, said: Pushed) -> bool:
    """Deliveries come at least once: with the same key, or as the same notification under a new one."""
    heading = turn.heading
    if said.key:
        delivery = (heading.agent, said.key)
        if before := repeated.told_before(turn, "delivery", delivery):
            seq, body = before
            turn.flag("duplicate" if body == said.body else "conflict")
            turn.logged.same_as = seq
            if body != said.body:
                doubt(turn, said)
            return True
        repeated.note(turn, "delivery", delivery, said.body)
    first = said.words[0] if said.words else None
    if first is None or not first.id or not first.status:
        return False
    what = (heading.operation, heading.agent, first.id, first.status, heading.source)
    again = next((found for stamp in said.stamps if (found := repeated.told_before(turn, "notice", (*what, stamp)))), None)
    for stamp in said.stamps:
        repeated.note(turn, "notice", (*what, stamp), "")
    if again:
        turn.flag("reemission")
        turn.logged.same_as = again[0]
    return bool(again)


def doubt(turn: Turn, said: Pushed) -> None:
    for one in meant(turn, said):
        one.flags = tuple(sorted({*one.flags, "conflict"}))
        turn.touch(one)


def meant(turn: Turn, said: Pushed) -> list[Subject]:
    """The tasks of its operation that a push names."""
    known = [one for word in said.words for one in turn.known_as(turn.heading.agent, word.id)]
    return [one for one in known if one.operation == turn.heading.operation]


def skew(turn: Turn) -> int:
    heading = turn.heading
    off = heading.sender - heading.at if heading.sender else 0
    return off if abs(off) > SKEW else 0


# -- what agents answer when they are asked again ----------------------------------------------------------------------


def seen_again(turn: Turn, said: Snapshots) -> None:
    everywhere(turn, said.words, "snapshot")
    for native in said.gone:
        found = alias(turn.world, turn.scope, turn.heading.agent, native)
        found.work.gone = turn.claim("unknown", "")
        save_alias(turn.world, turn.scope, turn.heading.agent, native, found)
        for one in turn.known_as(turn.heading.agent, native):
            turn.touch(one)


def everywhere(turn: Turn, words: tuple[Word, ...], kind: str) -> None:
    """Of whichever tasks have the ids, in every operation; kept for those that will have them."""
    carried(turn, words)
    claims = [word for word in words if RANKS.get(word.status, 0)]
    if kind == "push" and claims and not any(turn.known_as(turn.heading.agent, word.id) for word in words):
        orphan(turn, words)
    for word in claims:
        claimed(turn, word, kind)


def claimed(turn: Turn, word: Word, kind: str) -> None:
    agent = turn.heading.agent
    known = turn.known_as(agent, word.id)
    before = [(one, evidence_of(turn, one)) for one in known]
    found = alias(turn.world, turn.scope, agent, word.id)
    claim = turn.claim(word.status, word.native)
    if word.of == "work":
        found.work = add(found.work, kind, claim)
    else:
        found.wire = add(found.wire, kind, claim)
    save_alias(turn.world, turn.scope, agent, word.id, found)
    for one, was in before:
        if counts(one, word.id):
            judge(turn, one, was, kind, word.status)
        if len(known) == 1:
            turn.logged.subject = one.id
        one.active = max(one.active, turn.heading.at)
        turn.touch(one)


def orphan(turn: Turn, words: tuple[Word, ...]) -> None:
    heading = turn.heading
    named = {word.of: word.id for word in words}
    subject = Subject(
        shell_id(heading.project, turn.scope, "", heading.agent, words[0].id), heading.project, turn.scope, "", heading.agent,
        heading.task_type, "orphan", "", turn.logged.seq, heading.at, heading.at, evidence=heading.observation,
    )  # fmt: skip
    identity.learn(turn, turn.open(subject), named.get("work", ""), named.get("transport", ""))
