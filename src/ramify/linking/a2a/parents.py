"""Whose child a task is, judged from everybody who names it and everybody whom it names.

An agent that names a task in a message of its own says that it started it, unless that task is the older one. A user
who names a task in the message that makes another is that task's agent at work, or a person who refines what is
finished: which of the two, the state of the named task at that moment tells.
"""

from msgspec import Struct, structs

from ramify.linking.a2a import mentions, subject
from ramify.linking.a2a.facts import Facts, Mark
from ramify.linking.a2a.mentions import Mention
from ramify.linking.world import World, key
from ramify.model.a2a_event import ACTIVE, TERMINAL
from ramify.model.link import Candidate, Link

HURRY = 0.8  # the sender is the named task's agent, or a client that did not wait for it
TRACED = 0.9
RULE = "referenceTaskIds"


class Claim(Struct, frozen=True):
    """One reason to be somebody's child. The surest counts, of equally sure ones the first."""

    parent: str
    rule: str
    certainty: float
    at: int
    ref: str
    observation: str
    title: str = ""
    index: int = 0
    against: str = ""  # why it does not count

    def order(self) -> tuple[float, int, str, int]:
        return -self.certainty, self.at, self.ref, self.index


# -- which task an id means --------------------------------------------------------------------------------------------


def shown_as(world: World, project: str, native: str) -> dict[str, str]:
    """The tasks that agents have shown under an id, each with its agent."""
    found = world.span(key("a2a-shown", project, native))
    return {task: agent for task, _, agent in (ref.partition(" ") for _, ref in found)}


def resolve(world: World, project: str, agent: str, native: str) -> str:
    """The task at the same agent; else the only one anywhere; else nobody's, known by name only."""
    known = shown_as(world, project, native)
    own = subject.task_id(project, agent, native)
    if own in known:
        return own
    return next(iter(known)) if len(known) == 1 else subject.unresolved_id(project, native)


def state_at(world: World, task: str, moment: Mark) -> str:
    """What was known of its state when something else happened; empty: nothing."""
    state, newest = "", 0
    for at, text in world.span(key("a2a-states", task), high=moment[0]):
        ref, word, time = text.rsplit(" ", 2)
        if (at, ref) > moment:
            break
        if word in TERMINAL:
            return word
        if not int(time) or int(time) >= newest:
            state, newest = word, max(newest, int(time))
    return state


# -- claims ------------------------------------------------------------------------------------------------------------


def claims_on(world: World, task: str, project: str, native: str) -> list[Claim]:
    """Every task that names it as its own, and why it may be wrong."""
    facts = subject.load(world, task)
    found: list[Claim] = []
    for one in mentions.naming(world, project, native) if native else ():
        if one.kind == "agent" and one.subject != task and resolve(world, project, one.agent, native) == task:
            older = facts is not None and _is_older(world, facts, one.subject)
            against = "it was asked for before that task was" if older else ""
            found.append(_claim(one, one.subject, RULE, 1.0, against))
    return found


def claims_of(world: World, facts: Facts) -> list[Claim]:
    """What the request that made it says about whose child it is."""
    found: list[Claim] = []
    for one in mentions.asked_by(world, facts.id):
        if one.kind == "span":
            found += _traced(world, one) if has_made(facts, one) else []
            continue
        parent = resolve(world, facts.project, facts.agent, one.target)
        if parent == facts.id or subject.load(world, parent) is None:
            continue
        if one.kind == "parent":
            found.append(_claim(one, parent, "parentTaskId", 1.0))
        else:
            at_work = state_at(world, parent, (one.at, one.ref)) in ACTIVE
            against = "" if at_work else "that task was not at work at that moment"
            against = against if has_made(facts, one) else "the request went on with a task that was there"
            found.append(structs.replace(_claim(one, parent, RULE, HURRY, against), title=""))  # it names the work of that task
    return found


def has_made(facts: Facts, one: Mention) -> bool:
    """Agents that go on with a task because of its context make a later request look as if it had made the task."""
    made = facts.made
    return made is not None and (one.at, one.ref) == (made.at, made.ref) <= facts.first


def _traced(world: World, one: Mention) -> list[Claim]:
    found: list[Claim] = []
    for other in mentions.naming(world, one.project, one.target):
        parent = other.subject if other.kind == "self" else ""
        if other.kind == "stamp":
            parent = resolve(world, other.project, other.agent, other.parent)
        if parent and parent != one.subject and subject.load(world, parent) is not None:
            found.append(structs.replace(_claim(one, parent, "traceparent", TRACED), observation=other.observation))
    return found


def _is_older(world: World, facts: Facts, other: str) -> bool:
    """What was there before somebody asked for a task cannot have come of it. Agents that go on with a task because of its
    context make a request look as if it had made the task: then nobody knows how old that is."""
    namer = subject.load(world, other)
    if namer is None or namer.made is None or namer.first < (namer.made.at, namer.made.ref):
        return False
    return facts.first < namer.first


def _claim(one: Mention, parent: str, rule: str, certainty: float, against: str = "") -> Claim:
    return Claim(parent, rule, certainty, one.at, one.ref, one.observation, one.title, one.index, against)


def all_claims(world: World, task: str, project: str, native: str) -> list[Claim]:
    facts = subject.load(world, task)
    own = claims_of(world, facts) if facts is not None else []
    return sorted(claims_on(world, task, project, native) + own, key=Claim.order)


def valid(claims: list[Claim]) -> list[Claim]:
    return [claim for claim in claims if not claim.against]


# -- the link ----------------------------------------------------------------------------------------------------------


def link_of(claims: list[Claim], chosen: Claim | None) -> Link | None:
    if chosen is None:
        return None
    same = [claim for claim in claims if claim.parent == chosen.parent and not claim.against]
    evidence = tuple(dict.fromkeys(claim.observation for claim in (chosen, *same) if claim.observation))
    lost: dict[str, Candidate] = {}
    for claim in claims:
        if claim.parent != chosen.parent and claim.parent not in lost:
            lost[claim.parent] = Candidate(claim.parent, claim.rule, claim.certainty, _reason(claim, chosen))
    return Link("spawned", chosen.parent, chosen.rule, chosen.certainty, evidence=evidence, candidates=tuple(lost.values()))


def _reason(claim: Claim, chosen: Claim) -> str:
    if claim.against:
        return claim.against
    if claim.order() < chosen.order():
        return "it would be its own ancestor"
    return "another task named it first" if claim.certainty == chosen.certainty else "another reason is surer"
