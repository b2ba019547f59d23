"""Going on after a compaction: the call whose answer is the summary that a request begins with."""

from collections.abc import Iterable

from ramify.linking.chain import Chain
from ramify.linking.compaction import continued_summary, offered_summaries
from ramify.linking.conversation import Verdict, before, same_scope
from ramify.linking.world import World, key
from ramify.model.entity import Call
from ramify.model.link import Candidate, Link

SHORT = 100


def by_summary(world: World, call: Call, chain: Chain) -> Verdict | None:
    summary = continued_summary(chain.parts)
    if summary is None:
        return None
    found = _of_its_line(world, chain, _quoted(world, call, summary))
    if found and not _ambiguous(world, call, summary, found):
        return _verdict(call, chain, found[-1], 0.97, found[:-1])
    if call.session and not (chain.parts and chain.parts[0].compaction):
        latest = _of_its_line(world, chain, [one for one in world.calls_at(_line(call)) if before(one, call)])
        if latest:
            return _verdict(call, chain, latest[-1], 0.7, [])
    return None


def _line(call: Call) -> int:
    return key("summaries", call.project, call.session, call.agent)


def _quoted(world: World, call: Call, summary: str) -> list[Call]:
    """Every earlier call that offers this summary, newest last; a part of a longer answer counts too."""
    exact = [
        one
        for one in world.calls_at(key("summary", call.project, summary))
        if one.agent == call.agent and before(one, call) and same_scope(one, call)
    ]
    if exact or not summary:
        return exact
    return [
        one
        for one in world.calls_at(_line(call))
        if before(one, call) and same_scope(one, call) and summary in one.summary
    ]


def _of_its_line(world: World, chain: Chain, found: list[Call]) -> list[Call]:
    """Equal words may sum up several lines: the answer that was carried over tells whose they are."""
    carried = [atom.digest for atom, role in zip(chain.atoms, chain.roles, strict=True) if role == "assistant"]
    if len(found) < 2 or not carried:
        return found
    return [one for one in found if _answered_with(world, one, carried)] or found


def _answered_with(world: World, summed_up: Call, carried: list[bytes | None]) -> bool:
    last = world.call(summed_up.parent)
    answer = [one.digest for one in last.answer] if last is not None else []
    return bool(answer) and carried[: len(answer)] == answer


def wake_waiting(world: World, call: Call, found: Iterable[str]) -> None:
    """Whoever goes on from a summary, whatever its session, may go on from this one."""
    places = [key("waits-summary", call.project, call.session)]
    places += [key("waits-words", call.project, summary) for summary in found]
    for waiting in (one for place in places for one in world.calls_at(place)):
        if before(call, waiting):
            world.agenda[waiting.id] = None


def wake_behind(world: World, call: Call) -> None:
    """Another call is before the one that sums up, or what that one was answered is known now."""
    answered = world.loader.answered(call.response) if call.utility == "compaction" and call.response else None
    if answered is not None and answered.part is not None:
        wake_waiting(world, call, offered_summaries(answered.part))


def _ambiguous(world: World, call: Call, summary: str, found: list[Call]) -> bool:
    """A few words may sum up anything: without a session they must be one line's alone."""
    if call.session or len(summary) >= SHORT or len(found) == 1:
        return False
    return len({world.chain(one).hashes[:2][-1] for one in found}) > 1


def _verdict(call: Call, chain: Chain, parent: Call, certainty: float, losers: list[Call]) -> Verdict:
    """What was carried over behind the summary is not new: the new part begins behind the last answer in it."""
    consumed = 0
    for at, role in enumerate(chain.roles):
        if role == "assistant":
            consumed = at + 1
    candidates = tuple(
        Candidate(one.id, "compact-summary", certainty, "a newer call has the same summary") for one in losers[-5:]
    )
    evidence = tuple(seen for seen in (call.request, parent.response) if seen)
    link = Link("compacted", parent.id, "compact-summary", certainty, evidence=evidence, candidates=candidates)
    return Verdict("compacted", parent.id, link, consumed, 0)
