"""Sub-tasks: offers (tool calls that ask for work) and claims (requests that begin with it), paired one to one.

Pairing is a pure function of the set of offers and claims: any order of arrival gives the same pairs.
"""

from msgspec import Struct

from ramify.linking import speaker
from ramify.linking.conversation import (
    FAILED,
    before,
    earlier_alike,
    first_attempt,
    later_alike,
    repeats_words,
    same_scope,
)
from ramify.linking.results import WORKFLOW
from ramify.linking.toolcalls import claimants
from ramify.linking.world import World, children_of, key
from ramify.model import ids
from ramify.model.entity import Call, ToolCall
from ramify.model.link import Candidate

FOREVER = 1 << 62
LATELY = 12
CUSTOM, BUILT_IN = "custom", ("general-purpose", "explore", "plan", "fork", "workflow-subagent")


class Offer(Struct, frozen=True):
    tool: ToolCall
    caller: Call
    left: int = FOREVER  # when its caller's line went on without it

    @property
    def order(self) -> tuple[int, str, int]:
        return (self.caller.started, self.caller.id, self.tool.block)

    @property
    def until(self) -> int:
        return self.tool.shut or FOREVER


class Pairing(Struct):
    """What a claim turned out to be: an attempt of another, the child of an offer, or neither."""

    attempt_of: str = ""
    offer: Offer | None = None
    rule: str = ""
    certainty: float = 0.0
    candidates: tuple[Candidate, ...] = ()


def resolve(world: World, seeds: list[str]) -> dict[str, tuple[Call, Pairing]]:
    """Pairs everything that the seeds touch. A claim that nobody made an offer for touches nothing else."""
    every, offers, offered = gather(world, seeds)
    alone = {claim.id: (claim, _alone(world, claim)) for claim in every if claim.id not in offered}
    claims = [claim for claim in every if claim.id in offered]
    if not claims:
        return alone
    window = {claim.project: world.rules.window_of(claim.project) for claim in claims}
    silent = {claim.id for claim in claims if not claim.agent and sends_agents(world, claim)}
    agents = {claim.id: speaker.reported(world, claim) for claim in claims}
    found = pair(offers, claims, window, silent, agents)
    return alone | {claim.id: (claim, found[claim.id]) for claim in claims}


def sends_agents(world: World, call: Call) -> bool:
    """A client that sends agent ids makes no claim without one."""
    if not call.session:
        return False
    conversation = world.conversation(ids.session_conversation_id(call.project, call.session))
    return conversation is not None and conversation.sends_agents


def gather(world: World, seeds: list[str]) -> tuple[list[Call], list[Offer], set[str]]:
    """Follows prompts from claims to offers and back until nothing new comes; also, which claims met any offer."""
    claims: dict[str, Call] = {}
    offers: dict[str, Offer] = {}
    offered: set[str] = set()
    tools: set[str] = set()
    waiting = [call for seed in seeds if (call := world.call(seed)) is not None]
    while waiting:
        call = waiting.pop()
        if call.id in claims or call.relation not in ("opening", "agent"):
            continue
        claims[call.id] = call
        for tool in (*exact_offers(world, call), *offers_by_prompt(world, call)):
            offered.add(call.id)
            if tool.id not in tools:
                tools.add(tool.id)
                _take(world, tool, offers)
                waiting += claimants(world, tool)
    return (
        sorted(claims.values(), key=lambda call: (call.started, call.id)),
        sorted(offers.values(), key=lambda offer: offer.order),
        offered,
    )


def _take(world: World, tool: ToolCall, offers: dict[str, Offer]) -> None:
    caller = world.call(tool.call)
    if caller is not None and caller.asked:
        offers[tool.id] = Offer(tool, caller, _left(world, tool, caller))


def _left(world: World, tool: ToolCall, caller: Call) -> int:
    """An answer that was lost on its way, or given up, asked for work that nobody began.

    Its request was sent again, or the next turn has no word of the call.
    """
    again = [
        other.started
        for other in later_alike(world, caller)
        if 0 < caller.ended <= other.started
        and other.id != caller.id
        and other.agent == caller.agent
        and same_scope(other, caller)
        and repeats_words(caller, other)
    ]
    went_on = [
        other.started
        for other in world.calls_at(children_of(caller))
        if other.relation == "continued" and not other.utility and not 0 < tool.closed <= other.started
    ]
    return min([*again, *went_on], default=FOREVER)


def asking_session(call: Call) -> str:
    """The session that may have asked for this: its own, unless it says which one started it."""
    return call.parent_session or call.session


def is_shared(offer: Offer) -> bool:
    """A workflow starts any number of agents by one call."""
    return offer.tool.prompt == WORKFLOW


def exact_offers(world: World, call: Call) -> list[ToolCall]:
    """Tool calls that name this very agent, or that this agent's own request names."""
    agent = speaker.reported(world, call)
    found = world.tools_at(key("agent", call.project, call.session, agent)) if agent else []
    for native in (call.own_via, call.told_via):
        if native and (tool := world.tool(ids.tool_call_id(call.project, call.session, native))):
            found = [*found, tool]
    found = [tool for tool in found if tool.named or tool.name in world.rules.spawn_tools]  # a shell may print anything
    return [*found, *(tool for id in call.soft_offers if (tool := world.tool(id)))]


def offers_by_prompt(world: World, call: Call) -> list[ToolCall]:
    scope = (call.project, asking_session(call))
    return [tool for prompt in call.claims for tool in world.tools_at(key("offer", *scope, prompt))]


def pair(
    offers: list[Offer], claims: list[Call], windows: dict[str, int], silent: set[str], agents: dict[str, str]
) -> dict[str, Pairing]:
    found = {claim.id: Pairing() for claim in claims}
    taken: dict[str, str] = {}
    for claim in claims:
        _pair_exactly(claim, agents[claim.id], offers, found[claim.id], taken)
    retried: set[str] = set()
    for position, claim in enumerate(claims):
        mine, agent = found[claim.id], agents[claim.id]
        if mine.offer:
            continue
        earlier = [one for one in claims[:position] if _repeats(one, claim)]
        again = _failed_before(claim, earlier, found, offers, retried)
        if again:
            retried.add(again.id)
            mine.attempt_of = found[again.id].attempt_of or again.id
            continue
        if claim.id not in silent:
            fitting = [offer for offer in offers if _fits(offer, claim)]
            refused = {offer.tool.id: _refusal(offer, claim, agent, taken, windows[claim.project]) for offer in fitting}
            _pair_by_prompt(claim, fitting, mine, refused)
            if mine.offer and not is_shared(mine.offer):
                taken[mine.offer.tool.id] = claim.id
        if not mine.offer and claim.relation == "opening":
            mine.attempt_of = _answered_before(claim, earlier, found)
    return found


def _alone(world: World, claim: Call) -> Pairing:
    """Without any offer an opening can only be a further attempt of an earlier one with the same words.

    Only the newest are looked at: what failed before an answered one was tried again by then.
    """
    if claim.relation != "opening":
        return Pairing()
    same = [one for one in earlier_alike(world, claim, LATELY) if before(one, claim)]
    earlier = [one for one in same if _repeats(one, claim)]
    for one in reversed(earlier):
        first = first_attempt(one)
        again = any(other.attempt_of == first and before(one, other) for other in same)
        if one.status in FAILED and not one.offer and not again:
            return Pairing(attempt_of=first)
    return Pairing(attempt_of=_answered_before(claim, earlier, {one.id: Pairing(one.attempt_of) for one in earlier if not one.offer}))


def _pair_exactly(claim: Call, agent: str, offers: list[Offer], mine: Pairing, taken: dict[str, str]) -> None:
    for offer in offers:
        if offer.tool.id in taken or not before(offer.caller, claim) or offer.tool.project != claim.project:
            continue  # nobody is started by a call that came after it: so nobody can be its own ancestor
        if agent and offer.tool.agent == agent and offer.tool.session == claim.session:
            rule, certainty = offer.tool.agent_rule or "agent-id-in-result", 1.0
        elif claim.told_via and offer.tool.native == claim.told_via and offer.tool.session == claim.session:
            rule, certainty = "parent_tool_use_id", 1.0
        elif claim.own_via and offer.tool.native == claim.own_via and offer.tool.session == claim.session:
            rule, certainty = "own-result", 1.0
        elif offer.tool.id in claim.soft_offers:
            rule, certainty = "result-match", 0.8
        else:
            continue
        mine.offer, mine.rule, mine.certainty = offer, rule, certainty
        taken[offer.tool.id] = claim.id
        return


def _repeats(one: Call, claim: Call) -> bool:
    return (
        repeats_words(one, claim)
        and one.relation == claim.relation == "opening"
        and one.agent == claim.agent
        and (one.project, one.user) == (claim.project, claim.user)
        and (one.session, one.parent_session) == (claim.session, claim.parent_session)
        and 0 < one.ended <= claim.started
    )


def _failed_before(
    claim: Call, earlier: list[Call], found: dict[str, Pairing], offers: list[Offer], retried: set[str]
) -> Call | None:
    """A failed call that this one sends again. Work that the failed one itself asked for is no retry of it."""
    for one in reversed(earlier):
        offer = found[one.id].offer
        if (
            one.status in FAILED
            and one.id not in retried
            and (offer is None or claim.started < offer.until)
            and not any(mine.caller.id == one.id and mine.tool.prompt in claim.claims for mine in offers)
        ):
            return one
    return None


def _answered_before(claim: Call, earlier: list[Call], found: dict[str, Pairing]) -> str:
    """The same opening again in one session, although it was answered."""
    for one in reversed(earlier):
        mine = found.get(one.id)
        if one.told_agent != claim.told_agent:
            continue  # reports know that somebody else answered the same words
        if mine is not None and claim.session and one.session == claim.session and mine.offer is None:
            return mine.attempt_of or one.id
    return ""


def _pair_by_prompt(claim: Call, fitting: list[Offer], mine: Pairing, refused: dict[str, str]) -> None:
    if any(is_shared(offer) for offer in fitting):
        _pair_with_workflow(claim, [offer for offer in fitting if is_shared(offer)], mine)
        return
    lost: list[Candidate] = []
    for offer in sorted(fitting, key=lambda offer: (_is_of_other_type(offer, claim), offer.left < claim.started)):
        reason = refused[offer.tool.id]
        if reason or mine.offer:
            lost.append(Candidate(offer.tool.id, "prompt-match", 0.5, reason or _preferred(offer, claim)))
        else:
            mine.offer = offer
    mine.candidates = tuple(lost[:8])
    if mine.offer:
        mine.rule = "prompt-match"
        rivals = [one for one in fitting if one is not mine.offer and one.until > claim.started and not _is_of_other_type(one, claim)]
        mine.certainty = (0.6 if rivals else 0.95) if claim.session else (0.5 if rivals else 0.85)


def _is_of_other_type(offer: Offer, claim: Call) -> bool:
    """Some clients send which type of agent asks. All types of one's own are `custom` there."""
    asked, sent = offer.tool.agent_type.lower(), claim.agent_type.lower()
    if not asked or not sent:
        return False
    return asked in BUILT_IN if sent == CUSTOM else asked != sent


def _preferred(loser: Offer, claim: Call) -> str:
    if _is_of_other_type(loser, claim):
        return "it asked for another type of agent"
    if loser.left < claim.started:
        return "its caller's line had gone on without it"
    return "an earlier offer with the same prompt was free"


def _pair_with_workflow(claim: Call, offers: list[Offer], mine: Pairing) -> None:
    """The newest that was open. A workflow in the background has its result at once: then the newest of all."""
    asked = [offer for offer in offers if before(offer.caller, claim)]
    opened = [offer for offer in asked if claim.started < offer.until]
    if not asked:
        return
    mine.offer = (opened or asked)[-1]
    mine.rule, mine.certainty = "workflow-harness", 0.8 if len(opened) == 1 else 0.6
    mine.candidates = tuple(
        Candidate(offer.tool.id, mine.rule, 0.5, "another workflow was newer")
        for offer in asked[-8:]
        if offer is not mine.offer
    )


def _fits(offer: Offer, claim: Call) -> bool:
    """The same words, asked by whoever may have been the caller."""
    return (
        offer.tool.prompt in claim.claims
        and offer.caller.id != claim.id
        and offer.caller.project == claim.project
        and offer.caller.session == asking_session(claim)
        and (not offer.caller.user or not claim.user or offer.caller.user == claim.user)
        and (not claim.agent or offer.caller.agent == claim.parent_agent)
    )


def _refusal(offer: Offer, claim: Call, agent: str, taken: dict[str, str], window: int) -> str:
    if offer.tool.id in taken:
        return "taken: one offer, one child"
    if not before(offer.caller, claim):
        return "asked after this began"
    if claim.started >= offer.until:
        return "already answered when this began"
    if not claim.session and claim.started - offer.caller.started > window:
        return "outside the window for matches without a session"
    if offer.tool.agent and agent and offer.tool.agent != agent:
        return "its result names another agent"
    return ""
