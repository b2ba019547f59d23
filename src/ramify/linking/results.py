"""Tool calls and what came back: pairs each call with its result, and reads from results which agent ran."""

from ramify.linking import delegated, toolcalls
from ramify.linking.chain import Chain
from ramify.linking.conversation import any_waits, before
from ramify.linking.cut import is_lent
from ramify.linking.toolcalls import tool_of
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, NamedAgent, ToolCall
from ramify.model.event import Notice, Part, Result, Use

WORKFLOW_TOOL = "Workflow"
WORKFLOW = ids.digest("prompt of a workflow")  # its agents are known by the harness's words, not by the call's own
Since = tuple[int, int, tuple[str, ...]]  # a message, a block in it, and tool calls that are not meant
Told = list[tuple[int, Result | Notice]]


def prompt_key(words: str) -> bytes:
    return ids.digest("prompt", words.strip())


def needs(world: World, call: Call, part: Part | None) -> list[int]:
    """What taking in an answer will ask for, in one read."""
    wanted = [key("waits-message", call.project, call.message)] if call.message and any_waits(world, call.project) else []
    if part is not None:
        wanted += [key("waits-tool", call.project, call.session, use.id) for use in part.uses if use.id]
        wanted += [key("claim", call.project, call.session, use.prompt) for use in part.uses if use.prompt]
        words = delegated.final_words(part)
        wanted += [key("result", call.project, call.session, words)] if words else []
    return wanted


# -- asked for ---------------------------------------------------------------------------------------------------------


def issue(world: World, call: Call, part: Part) -> None:
    """The tool calls of an answer: each may be an offer of work."""
    for use in _each_once(part):
        world.add(key("issued", call.project, call.session, use.id), call.started, call.id)
        for waiting in world.calls_at(key("waits-tool", call.project, call.session, use.id)):
            world.agenda[waiting.id] = None
        tool = tool_of(world, call, use.id)
        other = world.call(tool.call)
        # The first to ask has it, as some gateways count their ids from one; the wire knows more than a report of it.
        first = other is None or other.id == tool.guess or other.twin == call.id or not before(other, call)
        if first and not is_lent(world, call, use.id):
            _own(world, call, tool, part, use)
    for result in _served_elsewhere(part):
        _note_served(world, call, result)
    words = delegated.final_words(part)
    if words is not None and not call.utility:
        call.final = words
        world.save("calls", call)
        world.add(key("final", call.project, call.session, words), call.started, call.id)
        delegated.match_final(world, call)


def _served_elsewhere(part: Part) -> list[Result]:
    """Results of tools at the model's side that an earlier answer asked for: the turn was paused in between."""
    own = {use.id for use in part.uses}
    return [result for result in part.served if result.id and result.id not in own]


def _note_served(world: World, call: Call, result: Result) -> None:
    tool = tool_of(world, call, result.id)
    world.add(_servers_of(tool), call.started, call.id)
    if tool.server:
        was = toolcalls.remembered(tool)
        tell_again(world, tool)
        toolcalls.settle(world, was, tool)


def _servers_of(tool: ToolCall) -> int:
    """The later answers that bring its result, among the keys of its session."""
    return key("served", tool.project, tool.session, tool.native)


def issue_again(world: World, call: Call, reported: Call) -> None:
    """A report of the same answer came first, and its tool calls stood for those of the wire."""
    answered = world.loader.answered(call.response)
    part = answered.part if answered else None
    for use in _each_once(part) if part is not None else ():
        tool = world.tool(ids.tool_call_id(call.project, call.session, use.id))
        if tool is not None and part is not None and tool.call == reported.id and not is_lent(world, call, use.id):
            _own(world, call, tool, part, use)


def _each_once(part: Part) -> list[Use]:
    return list({use.id: use for use in reversed(part.uses) if use.id}.values())


def _own(world: World, call: Call, tool: ToolCall, part: Part, use: Use) -> None:
    was = toolcalls.remembered(tool)
    tool.call, tool.opened = call.id, call.ended or call.started
    describe(world, tool, part, use)
    toolcalls.settle(world, was, tool)


def describe(world: World, tool: ToolCall, part: Part, use: Use) -> None:
    """What its call says of it."""
    tool.block, tool.name, tool.title, tool.agent_type = use.block, use.name, use.title, use.agent_type
    tool.path = use.path
    tool.prompt, tool.prompt_text = b"", ""
    if use.name == WORKFLOW_TOOL:
        tool.prompt = WORKFLOW
    elif use.name in world.rules.spawn_tools and use.prompt:
        tool.prompt, tool.prompt_text = use.prompt, use.text
    was_served, tool.server = tool.server, _runs_at_the_server(part, use)
    if tool.server or was_served:
        tell_again(world, tool)


def _runs_at_the_server(part: Part, use: Use) -> bool:
    return not any(atom.kind == "use" and atom.tool == use.id for atom in part.atoms)


# -- come back ---------------------------------------------------------------------------------------------------------


def new_since(world: World, call: Call) -> Since:
    """Where the part begins whose results and notices this request is the one to bring.

    Where it goes on from another by its words, that other has seen the rest. Where it does not, results may stand
    here for the first time although the words around them are old. A session that left another one before its tools
    came back says how it did without them: they are the other's.
    """
    link = call.link
    if link is None or link.rule != "prefix-match":
        return 0, 0, ()
    left = world.call(link.parent) if link.kind == "forked" else None
    return call.new_message, call.new_block, left.uses if left is not None else ()


def take(world: World, call: Call, chain: Chain, taken: Since | None) -> None:
    """The results and notices in the new part of a request; `taken`: where that part began until now.

    What this request turns out not to bring is told again by the others that do. A history may come from another
    session: its tools were called there, and are not counted again.
    """
    since = new_since(world, call)
    if since == taken:
        return
    old = told(chain, taken) if taken is not None else {}
    new = told(chain, since)
    for native in sorted(old.keys() | new.keys()):
        if old.get(native) == new.get(native):
            continue
        tool = tool_of(world, call, native)
        was = toolcalls.remembered(tool)
        if native not in new:
            world.remove(tellers_of(tool), -call.started, call.id)
        else:  # the earliest count most, and only the highest entries of a key are sure to be read
            world.add(tellers_of(tool), -call.started, call.id)
        if native in old:
            tell_again(world, tool)
        else:
            _tell(world, tool, call, new[native])
        toolcalls.settle(world, was, tool)


def leave(world: World, call: Call, chain: Chain) -> None:
    """It brings nothing any more."""
    for native in sorted(told(chain, new_since(world, call))):
        tool = tool_of(world, call, native)
        was = toolcalls.remembered(tool)
        world.remove(tellers_of(tool), -call.started, call.id)
        tell_again(world, tool)
        toolcalls.settle(world, was, tool)


def withdraw(world: World, call: Call) -> None:
    """It asked for nothing any more: another that issued the same has it."""
    for native in dict.fromkeys(call.uses):
        issued = key("issued", call.project, call.session, native)
        world.remove(issued, call.started, call.id)
        tool = world.tool(ids.tool_call_id(call.project, call.session, native))
        if tool is None or tool.call != call.id:
            continue
        was = toolcalls.remembered(tool)
        toolcalls.disclaim(tool)
        tell_again(world, tool)
        toolcalls.settle(world, was, tool)
        for other in world.calls_at(issued):
            answered = world.loader.answered(other.response)
            if answered is not None and answered.part is not None:
                issue(world, other, answered.part)


def tellers_of(tool: ToolCall) -> int:
    """The requests that bring its result, among the keys of its session."""
    return key("told", tool.project, tool.session, tool.id)


def told(chain: Chain, since: Since) -> dict[str, Told]:
    """Results and notices from a place on, by the tool call that they are about."""
    found: dict[str, Told] = {}
    message, block, others = since
    for index in range(message, len(chain.parts)):
        part = chain.parts[index]
        for result in part.results:
            new = (index, result.block) >= (message, block) and result.id not in others
            if result.id and result.atom is not None and new:
                found.setdefault(result.id, []).append((index, result))
        for notice in part.notices:
            if notice.tool and notice.tool not in others and (notice.agent or notice.status):
                found.setdefault(notice.tool, []).append((index, notice))
    return found


def tell_again(world: World, tool: ToolCall) -> None:
    tool.closed = tool.shut = tool.result_message = tool.result_block = tool.agent_at = tool.notice_at = 0
    tool.result_call = tool.agent = tool.agent_evidence = tool.agent_rule = tool.notice_status = ""
    tool.result_atom = tool.result_text = b""
    tool.status = "running"
    if tool.told_agent is not None:
        _name_agent(tool, tool.told_agent)
    if not _is_introduced(tool):
        tool.name = ""
    if tool.server:
        _serve(world, tool)
    for call in world.calls_at(tellers_of(tool)):
        _tell(world, tool, call, told(world.chain(call), new_since(world, call)).get(tool.native, []))


def _serve(world: World, tool: ToolCall) -> None:
    """What a tool at the model's side gave back stands in the answer that asked for it, or in one that went on from there."""
    asked = world.call(tool.call)
    for call in ([asked] if asked is not None else []) + world.calls_at(_servers_of(tool)):
        answered = world.loader.answered(call.response)
        served = answered.part.served if answered is not None and answered.part is not None else ()
        result = next((result for result in served if result.id == tool.native), None)
        if result is not None:
            tool.status, tool.result_call = "error" if result.error else "ok", call.id
            tool.closed = tool.shut = call.ended or call.started
            return


def _tell(world: World, tool: ToolCall, call: Call, items: Told) -> None:
    """Each fact is the earliest request's that brings it: in whatever order they are told, the same remain."""
    results = [(index, item) for index, item in items if isinstance(item, Result)]
    if results:
        _tell_result(world, tool, call, results)
    agent = next((item.agent for _, item in items if item.agent), "")
    if agent:
        _name_agent(tool, NamedAgent(call.started, call.request, agent))
    status = next((item.status for _, item in items if isinstance(item, Notice) and item.status), "")
    if status and (not tool.notice_status or (call.started, status) < (tool.notice_at, tool.notice_status)):
        tool.notice_status, tool.notice_at = status, call.started


def _tell_result(world: World, tool: ToolCall, call: Call, results: list[tuple[int, Result]]) -> None:
    if tool.server:
        return
    if not all(result.receipt for _, result in results) and (not tool.shut or call.started < tool.shut):
        tool.shut = call.started
    holder = world.call(tool.result_call)
    if holder is not None and before(holder, call):
        return
    index, result = results[0]
    tool.closed, tool.result_call = call.started, call.id
    tool.result_message, tool.result_block = index, result.block
    tool.status = "canceled" if result.canceled else "error" if result.error else "ok"
    tool.result_atom, tool.result_text = result.atom or b"", result.text or b""
    if not _is_introduced(tool):
        tool.name = name_in(world.chain(call), tool.native)


def _is_introduced(tool: ToolCall) -> bool:
    """Whether somebody showed the call itself, and not only what came back."""
    return bool(tool.call or tool.opened)


def report_agent(tool: ToolCall, named: NamedAgent) -> None:
    if tool.told_agent is None or named < tool.told_agent:
        tool.told_agent = named
        _name_agent(tool, named)


def _name_agent(tool: ToolCall, named: NamedAgent) -> None:
    """The first to name it is believed. Whether the tool can spawn at all is asked when the two are paired."""
    if not tool.agent or (named.at, named.evidence) < (tool.agent_at, tool.agent_evidence):
        tool.agent, tool.agent_rule = named.agent, named.rule
        tool.agent_at, tool.agent_evidence = named.at, named.evidence


def name_in(chain: Chain, native: str) -> str:
    return next((use.name for part in chain.parts for use in part.uses if use.id == native), "")
