"""Which call a request goes on from: the longest known prefix, and the answer inside it between equals."""

from collections.abc import Iterable

from msgspec import Struct

from ramify.linking.chain import Chain
from ramify.linking.world import NEWEST, World, chain_key, key
from ramify.model.entity import Answered, Call
from ramify.model.event import Atom
from ramify.model.link import Candidate, Link

FAILED = ("error", "aborted")
REPLACED = ("No response requested.", "(no content)")
CHUNK = 4
EXACT, ALIKE, UNKNOWN, REPLACEMENT, ABSENT, DIFFERENT = 1, 2, 3, 4, 5, 6
CERTAINTY = {EXACT: 0.98, ALIKE: 0.9, UNKNOWN: 0.85, REPLACEMENT: 0.8, ABSENT: 0.75, DIFFERENT: 0.5}
LOST_BY = {
    EXACT: "its answer fits too, another is newer",
    ALIKE: "its answer only begins like the one in the request",
    UNKNOWN: "its answer is unknown",
    REPLACEMENT: "its answer was replaced by the client",
    ABSENT: "its answer is not in the request",
    DIFFERENT: "its answer differs from the one in the request",
}


class Verdict(Struct, frozen=True):
    """`consumed`: how many atoms of the request belong to what went before."""

    relation: str
    parent: str = ""
    link: Link | None = None
    consumed: int = 0
    length: int = 0  # where the parent's request ends in this one


def same_scope(one: Call, other: Call) -> bool:
    """Two different values on any level separate; a missing one does not."""
    return (
        one.project == other.project
        and (not one.user or not other.user or one.user == other.user)
        and (not one.session or not other.session or one.session == other.session)
    )


def before(one: Call, other: Call) -> bool:
    """Some recorders count whole seconds: within one of them the longer list is the later one.

    A thread goes on from something, however little of it was sent. As all rules look only at what was before, there
    is one outcome whatever came first, and nobody is its own ancestor.
    """
    return in_time(one) < in_time(other)


def in_time(call: Call) -> tuple[int, bool, int, str]:
    return call.started, call.thread, call.atoms, call.id


def first_attempt(call: Call) -> str:
    return call.attempt_of or call.id


def later_alike(world: World, call: Call) -> list[Call]:
    """Calls that did not begin earlier and were sent alike, or are alike in all that counts."""
    return _once(world.calls_since(place, call.started) for place in _same_words(call))


def earlier_alike(world: World, call: Call, most: int) -> list[Call]:
    """The newest of those that did not begin later, oldest first."""
    return _once(world.calls_until(place, call.started, most) for place in _same_words(call))


def _same_words(call: Call) -> list[int]:
    strict = key("strict", call.project, call.session, call.strict)
    return [strict, chain_key("end", call.end)] if call.session and call.atoms else [strict]


def _once(groups: Iterable[list[Call]]) -> list[Call]:
    found = {call.id: call for group in groups for call in group}
    return sorted(found.values(), key=lambda call: (call.started, call.id))


def repeats_words(one: Call, call: Call) -> bool:
    """After some failures a client falls back to fewer features, and its reminders then say so: the words count."""
    alike = bool(call.session) and one.session == call.session and bool(call.atoms) and one.end == call.end
    return one.strict == call.strict or (alike and one.status in FAILED)


def eligible(candidate: Call, call: Call) -> bool:
    return (
        candidate.asked
        and candidate.relation != "seen"
        and not candidate.utility
        and not candidate.thread  # it sent a part of its list, which is the beginning of nothing
        and candidate.agent == call.agent
        and before(candidate, call)
        and same_scope(candidate, call)
    )


def stated(world: World, call: Call) -> Verdict | None:
    """The caller names the answer that it continues."""
    found = [
        candidate
        for candidate in world.calls_at(key("message", call.project, call.previous))
        if not candidate.utility
        and candidate.agent == call.agent
        and same_scope(candidate, call)
        and _precedes(world, candidate, call)
    ]
    if not found:
        return None
    parent = found[0]
    chain = world.chain(call)
    consumed = 0 if call.thread else _leading(chain, _shared(chain, world.chain(parent)))
    link = Link("continued", parent.id, "previous-message-id", 1.0, evidence=(call.request, parent.response))
    return Verdict("continued", parent.id, link, consumed, consumed)


def await_message(world: World, call: Call) -> None:
    """Its parent may be heard of later. Few clients name one: who looks for those that wait asks first whether any does."""
    world.add(key("waits-message", call.project, call.previous), call.started, call.id)
    world.add(key("waits-messages", call.project), 0, "")


def any_waits(world: World, project: str) -> bool:
    return bool(world.find(key("waits-messages", project)))


def _precedes(world: World, candidate: Call, call: Call) -> bool:
    """A thread sends only what is new, so that within one tick of the clock its length says nothing."""
    if not call.thread or candidate.started != call.started:
        return before(candidate, call)
    passed: set[str] = set()
    above: Call | None = candidate
    while above is not None and above.started == call.started and above.id not in passed:
        if above.id == call.id:
            return False
        passed.add(above.id)
        named = world.calls_at(key("message", call.project, above.previous)) if above.previous else []
        above = named[0] if named else None
    return True


def _shared(chain: Chain, other: Chain) -> int:
    """How many atoms both have in common from the start."""
    length = min(len(chain.atoms), len(other.atoms))
    while length and chain.hashes[length] != other.hashes[length]:
        length -= 1
    return length


def _leading(chain: Chain, length: int) -> int:
    while length < len(chain.roles) and chain.roles[length] == "assistant":
        length += 1
    return length


def by_prefix(world: World, call: Call, chain: Chain) -> Verdict | None:
    top = len(chain.atoms) - 1
    if wordless := _by_whole(world, call, chain):
        return wordless
    foreign: Verdict | None = None
    chunk, fetched = CHUNK, top + 1
    for length in range(top, 0, -1):
        if length < fetched:  # most parents are a few atoms back: ask for little first, then for more
            fetched = max(length - chunk, 0)
            world.prefetch(chain_key("end", chain.hashes[at]) for at in range(length, fetched, -1))
            chunk *= 4
        end = chain.hashes[length]
        found = [one for one in world.calls_at(chain_key("end", end)) if _ends_at(one, chain, length)]
        if not found:
            continue
        verdict = _choose(world, [one for one in found if eligible(one, call)], call, chain, length)
        if verdict:
            return verdict
        foreign = foreign or _foreign(found, call, chain, length)
    return foreign


def _ends_at(one: Call, chain: Chain, length: int) -> bool:
    """A request that began the answer itself (prefill) ends before those words too: they come back as one text."""
    end = chain.hashes[length]
    return one.end == end or (one.base == end and rank(one, chain, length) in (EXACT, ALIKE))


def _by_whole(world: World, call: Call, chain: Chain) -> Verdict | None:
    """A turn of mere reminders adds nothing to the chain, and nor did the one before it if its answer had no words."""
    if not chain.atoms or chain.roles[-1] != "assistant":
        return None
    same = [
        one
        for one in world.calls_at(chain_key("end", chain.end))
        if one.end == chain.end
        and not one.answer
        and one.message_count < call.message_count
        and one.strict != call.strict
        and eligible(one, call)
    ]
    return _choose(world, same, call, chain, len(chain.atoms))


def _choose(world: World, candidates: list[Call], call: Call, chain: Chain, length: int) -> Verdict | None:
    if len(candidates) >= NEWEST // 2:  # a crowd with the same words: the answer finds the one
        candidates = _by_answer(world, call, chain, length) or candidates
    if not candidates:
        return None
    ranked = sorted(
        (rank(candidate, chain, length), -candidate.started, candidate.id, candidate) for candidate in candidates
    )
    best, _, _, parent = ranked[0]
    if best == DIFFERENT and len({first_attempt(candidate) for candidate in candidates}) > 1:
        return None
    losers = tuple(
        Candidate(other.id, "prefix-match", CERTAINTY[place], LOST_BY[place]) for place, _, _, other in ranked[1:6]
    )
    certainty = 1.0 if best == EXACT and parent.uses else CERTAINTY[best]
    evidence = tuple(seen for seen in (call.request, parent.request, parent.response) if seen)
    link = Link("continued", parent.id, "prefix-match", certainty, evidence=evidence, candidates=losers)
    consumed = _leading(chain, length) if best in (EXACT, ALIKE, REPLACEMENT) or parent.lent else length
    return Verdict("continued", parent.id, link, consumed, length)


def _by_answer(world: World, call: Call, chain: Chain, length: int) -> list[Call]:
    found: list[Call] = []
    for end in range(length + 1, min(_leading(chain, length), length + 40) + 1):
        found += [
            one
            for one in world.calls_at(chain_key("after", chain.hashes[end]))
            if one.end == chain.hashes[length] and eligible(one, call)
        ]
    return found


def _foreign(found: list[Call], call: Call, chain: Chain, length: int) -> Verdict | None:
    """An equal history under another session: a forked session, a conversation of its own that left this call."""
    for parent in reversed(found):
        if (
            parent.asked
            and not parent.utility
            and parent.project == call.project
            and parent.session != call.session
            and (not parent.user or not call.user or parent.user == call.user)
            and before(parent, call)
            and rank(parent, chain, length) == EXACT
        ):
            link = Link("forked", parent.id, "prefix-match", 0.9, evidence=(call.request, parent.request))
            return Verdict("root", "", link, _leading(chain, length), length)
    return None


def rank(candidate: Call, chain: Chain, length: int) -> int:
    """How well the candidate's answer fits what follows its request; lower is better."""
    answer = candidate.answer
    if candidate.prefill and candidate.end != chain.hashes[length]:
        answer = candidate.prefill + answer
    if not answer:
        return UNKNOWN
    at = length
    for one in answer:
        if at == len(chain.atoms) or chain.roles[at] != "assistant":
            return ALIKE if at > length else ABSENT
        if one.digest != chain.atoms[at].digest:
            return _rank_difference(one, chain.atoms[at], at - length)
        at += 1
    return EXACT


def _rank_difference(one: Answered, other: Atom, equal: int) -> int:
    """Cut or edited at the end is still the same answer; another tool call is another answer."""
    if one.head and other.head and (one.head.startswith(other.head) or other.head.startswith(one.head)):
        return ALIKE
    if equal and not (one.tool and other.kind == "use"):
        return ALIKE
    return REPLACEMENT if not equal and other.head in REPLACED else DIFFERENT


def by_tool(world: World, call: Call, chain: Chain, length: int) -> Verdict | None:
    """A tool call in the history names the call that asked for it, also where text before it was rewritten."""
    for at in range(len(chain.atoms) - 1, length - 1, -1):
        atom = chain.atoms[at]
        if atom.kind != "use" or not atom.tool:
            continue
        for issuer in world.calls_at(key("issued", call.project, call.session, atom.tool)):
            if eligible(issuer, call):
                link = Link(
                    "continued", issuer.id, "tool-id", 0.95, via=atom.tool, evidence=(call.request, issuer.response)
                )
                return Verdict("continued", issuer.id, link, _leading(chain, at), at)
    return None
