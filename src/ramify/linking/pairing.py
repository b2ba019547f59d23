"""What comes of a pairing: the link of the claim, the child of the offer."""

from ramify.linking import speaker, toolcalls
from ramify.linking.attempts import set_attempt, wake_equal
from ramify.linking.subtask import Pairing, asking_session, is_shared
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, ToolCall
from ramify.model.link import Link


def put_claim(world: World, call: Call) -> None:
    for prompt in call.claims:
        world.add(key("claim", call.project, asking_session(call), prompt), call.started, call.id)
    if call.own_via:
        world.add(key("own", ids.tool_call_id(call.project, call.session, call.own_via)), call.started, call.id)
    if not call.agent:
        world.add(key("openings", call.project, call.session), call.started, call.id)


def apply_pairing(world: World, call: Call, pairing: Pairing) -> None:
    offer = pairing.offer
    tool = offer.tool.id if offer else ""
    if call.offer != tool:
        _leave(world, call)
        wake_equal(world, call)
    link = _link(call, pairing)
    if (call.offer, call.link) != (tool, link):
        call.offer, call.link = tool, link
        world.save("calls", call)
        world.unplaced[call.id] = None
    if offer is not None and not is_shared(offer):
        _pair(world, offer.tool, call.id)
    speaker.name_wire(world, call)
    set_attempt(world, call, pairing.attempt_of)


def _link(call: Call, pairing: Pairing) -> Link | None:
    offer = pairing.offer
    if offer is None:
        return Link("", "", "", 0.0, candidates=pairing.candidates) if pairing.candidates else None
    evidence = [call.request, offer.caller.response]
    if pairing.certainty == 1.0 and pairing.rule != "own-result":
        evidence = [offer.tool.agent_evidence, call.request]
    return Link(
        "spawned",
        offer.caller.id,
        pairing.rule,
        pairing.certainty,
        offer.tool.native,
        offer.tool.id,
        tuple(seen for seen in evidence if seen),
        pairing.candidates,
    )


def release(world: World, call: Call) -> None:
    """It is no opening after all: its offer is free for another."""
    tool = world.tool(call.offer)
    _leave(world, call)
    call.offer = ""
    if tool is not None:
        toolcalls.wake_claimants(world, tool)


def _leave(world: World, call: Call) -> None:
    tool = world.tool(call.offer)
    if tool is not None and tool.paired == call.id:
        _pair(world, tool, "")


def _pair(world: World, tool: ToolCall, call: str) -> None:
    if tool.paired != call:
        tool.paired = call
        world.save("tools", tool)
    toolcalls.put_child(world, tool)
