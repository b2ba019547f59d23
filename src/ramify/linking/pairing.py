"""What comes of a pairing: the link of the claim, the child of the offer."""

from ramify.linking import toolcalls
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
    offer, mine = pairing.offer, _children(call)
    tool = offer.tool.id if offer else ""
    _take_agent(world, call, pairing)
    if call.offer != tool:
        _leave(world, call.offer, mine)
        wake_equal(world, call)
    link = _link(call, pairing)
    if (call.offer, call.link) != (tool, link):
        call.offer, call.link = tool, link
        world.save("calls", call)
        world.unplaced[call.id] = None
    if offer is not None and not is_shared(offer):
        _set_child(world, offer.tool, _child(call))
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


def _take_agent(world: World, call: Call, pairing: Pairing) -> None:
    """An old client: a report may know the agent that the call started."""
    if call.agent or call.twin:
        return
    offer = pairing.offer
    agent = offer.tool.agent if offer is not None and offer.tool.named else ""
    if call.told_agent != agent:
        call.told_agent = agent
        world.save("calls", call)
        world.unplaced[call.id] = world.openings[call.id] = None


def release(world: World, call: Call) -> None:
    """It is no opening after all: its offer is free for another."""
    tool = world.tool(call.offer)
    _leave(world, call.offer, _children(call))
    call.offer = ""
    if tool is not None:
        toolcalls.wake_claimants(world, tool)


def _child(call: Call) -> str:
    """The task that it begins."""
    agent = call.agent or call.told_agent
    return ids.agent_task_id(call.project, call.session, agent) if agent else ids.opened_task_id(call.id)


def _children(call: Call) -> tuple[str, str]:
    """Every task that it may have been taken to begin: its agent may have become known since."""
    return _child(call), ids.opened_task_id(call.id)


def _leave(world: World, offer: str, children: tuple[str, str]) -> None:
    tool = world.tool(offer)
    if tool is not None and tool.child in children:
        _set_child(world, tool, "")


def _set_child(world: World, tool: ToolCall, child: str) -> None:
    if tool.child != child:
        tool.child = child
        world.save("tools", tool)
        toolcalls.settle_outcome(world, tool)
        toolcalls.wake_lines(world, tool)
