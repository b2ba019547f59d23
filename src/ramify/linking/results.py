"""Tool calls and what came back: pairs each call with its result, and reads from results which agent ran."""

from ramify.linking.chain import Chain
from ramify.linking.conversation import before, same_scope
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, ToolCall
from ramify.model.event import Notice, Part, Result, Use

WORKFLOW_TOOL = "Workflow"
WORKFLOW = ids.digest("prompt of a workflow")  # its agents are known by the harness's words, not by the call's own
OUTCOMES = {"completed": "completed", "failed": "failed", "killed": "canceled", "stopped": "canceled"}


def prompt_key(words: str) -> bytes:
    return ids.digest("prompt", words.strip())


def needs(call: Call, part: Part | None) -> list[int]:
    """What taking in an answer will ask for, in one read."""
    wanted = [key("waits-message", call.project, call.message)] if call.message else []
    if part is not None:
        wanted += [key("waits-tool", call.project, call.session, use.id) for use in part.uses if use.id]
        wanted += [key("claim", call.project, call.session, use.prompt) for use in part.uses if use.prompt]
        words = final_words(part)
        wanted += [key("result", call.project, call.session, words)] if words else []
    return wanted


def issue(world: World, call: Call, part: Part) -> None:
    """The tool calls of an answer: each may be an offer of work."""
    for use in part.uses:
        if not use.id:
            continue
        tool = tool_of(world, call, use.id)
        world.add(key("issued", call.project, call.session, use.id), call.started, call.id)
        other = world.call(tool.call)
        if other is not None and other.id != call.id and before(other, call):
            continue  # the first to ask keeps it: some gateways count their ids from one
        tool.call, tool.block, tool.name, tool.opened = call.id, use.block, use.name, call.ended or call.started
        tool.title, tool.agent_type, tool.path = use.title, use.agent_type, use.path
        if tool.named:
            for _, ref in world.find(key("via", call.project, call.session, use.id)):
                world.retold[ref] = None
        if _runs_at_the_server(part, use):
            tool.server, tool.status, tool.closed, tool.shut = True, "ok", tool.opened, tool.opened
        for waiting in world.calls_at(key("waits-tool", call.project, call.session, use.id)):
            world.agenda[waiting.id] = None
        tool.prompt = b""
        if use.name == WORKFLOW_TOOL:
            _offer(world, call, tool, WORKFLOW, "")
        elif use.name in world.rules.spawn_tools and use.prompt:
            _offer(world, call, tool, use.prompt, use.text)
        elif tool.result_text:
            match_result(world, tool)
        world.save("tools", tool)
    words = final_words(part)
    if words is not None and not call.utility and call.relation != "seen":
        call.final = words
        world.save("calls", call)
        world.add(key("final", call.project, call.session, words), call.started, call.id)
        match_final(world, call)


def _runs_at_the_server(part: Part, use: Use) -> bool:
    return not any(atom.kind == "use" and atom.tool == use.id for atom in part.atoms)


def _offer(world: World, call: Call, tool: ToolCall, prompt: bytes, words: str) -> None:
    tool.prompt, tool.prompt_text = prompt, words
    world.add(key("offer", call.project, call.session, tool.prompt), call.started, tool.id)
    for claim in world.calls_at(key("claim", call.project, call.session, tool.prompt)):
        world.openings[claim.id] = None
    if tool.agent:
        _wake_agent(world, tool)


def tool_of(world: World, call: Call, native: str) -> ToolCall:
    id = ids.tool_call_id(call.project, call.session, native)
    return world.tool(id) or ToolCall(id, native, call.project, call.session)


def take(world: World, call: Call, chain: Chain) -> None:
    """The results and notices in the new part of a request.

    Where it goes on from another by its words, that other has seen the rest. Where it does not, results may stand
    here for the first time although the words around them are old.
    """
    link = call.link
    known = (call.new_message, call.new_block) if link is not None and link.rule == "prefix-match" else (0, 0)
    for index in range(known[0], len(chain.parts)):
        part = chain.parts[index]
        for result in part.results:
            if (index, result.block) >= known:
                _take_result(world, call, chain, index, result)
        for notice in part.notices:
            _take_notice(world, call, notice)


def give_back(world: World, call: Call, chain: Chain) -> None:
    """What stood for the first time here, until it was known where this goes on from.

    A history may come from another session: its tools were called there, and are not counted again.
    """
    named = {
        native
        for part in chain.parts[: call.new_message + 1]
        for native in (*(result.id for result in part.results), *(notice.tool for notice in part.notices))
    }
    for native in sorted(named):
        tool = world.tool(ids.tool_call_id(call.project, call.session, native))
        if tool is None or tool.call:
            continue
        if tool.result_call in ("", call.id) and tool.agent_evidence in ("", call.request):
            forget(world, tool)


def forget(world: World, tool: ToolCall) -> None:
    """The wire knows nothing of it any more; what reports told of it stays."""
    if tool.told is None and not tool.shown and not tool.named:
        world.drop("tools", tool.id)
        return
    kept = ToolCall(tool.id, tool.native, tool.project, tool.session, told=tool.told, closing=tool.closing)
    kept.named, kept.shown, kept.agent_rule = tool.named, tool.shown, tool.agent_rule
    if tool.agent_rule:
        kept.agent, kept.agent_at, kept.agent_evidence = tool.agent, tool.agent_at, tool.agent_evidence
    world.save("tools", kept)


def forget_report(world: World, tool: ToolCall, observation: str, call: str) -> None:
    """One report was a copy: what it told is taken back, what others told stays."""
    if tool.told is not None and tool.told.observation == observation:
        tool.told = None
    if tool.closing is not None and tool.closing.observation == observation:
        tool.closing = None
    if tool.shown == observation:
        tool.shown = ""
    if tool.call and tool.call == call:
        tool.call = ""
    if tool.call or tool.told or tool.shown or tool.named or tool.result_call or tool.agent:
        world.save("tools", tool)
    else:
        world.drop("tools", tool.id)


def _take_result(world: World, call: Call, chain: Chain, message: int, result: Result) -> None:
    if not result.id or result.atom is None:
        return
    tool = tool_of(world, call, result.id)
    if not tool.name:
        tool.name = name_in(chain, result.id)
    if not result.receipt and (not tool.shut or call.started < tool.shut):
        tool.shut = call.started
        _wake_claims(world, tool)
    if not tool.closed or (call.started, call.id) < (tool.closed, tool.result_call):
        fresh = tool.result_atom != result.atom
        tool.closed, tool.result_call = call.started, call.id
        tool.result_message, tool.result_block = message, result.block
        tool.status = "error" if result.error else "ok"
        tool.result_atom, tool.result_text = result.atom, result.text or b""
        if fresh:
            for waiting in world.calls_at(key("cleared", call.project, call.session, result.id)):
                world.agenda[waiting.id] = None
    if result.agent:
        name_agent(world, tool, result.agent, (call.started, call.request), "")
    elif result.text and tool.name not in world.rules.spawn_tools:
        world.add(key("result", tool.project, tool.session, result.text), tool.closed, tool.id)
        match_result(world, tool)
    world.save("tools", tool)
    settle_outcome(world, tool)


def name_in(chain: Chain, native: str) -> str:
    return next((use.name for part in chain.parts for use in part.uses if use.id == native), "")


def _take_notice(world: World, call: Call, notice: Notice) -> None:
    if not notice.tool:
        return
    tool = tool_of(world, call, notice.tool)
    if notice.status and (not tool.notice_at or call.started < tool.notice_at):  # later requests repeat it
        tool.notice_status, tool.notice_at = notice.status, call.started
    if notice.agent:
        name_agent(world, tool, notice.agent, (call.started, call.request), "")
    world.save("tools", tool)
    settle_outcome(world, tool)


def name_agent(world: World, tool: ToolCall, agent: str, seen: tuple[int, str], rule: str) -> None:
    """The first to name it is believed. Whether the tool can spawn at all is asked when the two are paired."""
    if tool.agent and (tool.agent_at, tool.agent_evidence) <= seen:
        return
    tool.agent, tool.agent_rule = agent, rule
    tool.agent_at, tool.agent_evidence = seen
    world.add(key("agent", tool.project, tool.session, agent), tool.agent_at, tool.id)
    _move_what_was_inside(world, tool)
    for _, ref in world.find(key("warm-up", tool.project, tool.session, agent)):
        world.unplaced[ref] = None
    _wake_agent(world, tool)
    _wake_claims(world, tool)


def _move_what_was_inside(world: World, tool: ToolCall) -> None:
    """Reports may say only inside which tool call something happened: now it is known who it was."""
    task = ids.agent_task_id(tool.project, tool.session, tool.agent)
    for _, ref in world.find(key("under", tool.project, tool.session, tool.native)):
        call, message = world.call(ref), world.message(ref)
        if call is not None and call.agent != tool.agent:
            call.agent = tool.agent
            world.save("calls", call)
            world.unplaced[call.id] = None
            wire = world.call(call.twin)
            if wire is not None and not wire.agent:
                wire.told_agent = tool.agent
                world.save("calls", wire)
                world.unplaced[wire.id] = None
        if message is not None and message.line != task:
            message.line, message.agent = task, tool.agent
            world.save("messages", message)


def _wake_agent(world: World, tool: ToolCall) -> None:
    task = world.task(ids.agent_task_id(tool.project, tool.session, tool.agent))
    if task is not None:
        world.openings[task.first] = None
        world.retold[task.id] = None


def _wake_claims(world: World, tool: ToolCall) -> None:
    if tool.prompt:
        for claim in world.calls_at(key("claim", tool.project, tool.session, tool.prompt)):
            world.openings[claim.id] = None


# -- tools of one's own: a string of the input opened the child, and the child's last words came back ------------------


def match_final(world: World, call: Call) -> None:
    """Asked again whenever the call moves: its line may have another beginning then."""
    if call.final:
        for tool in world.tools_at(key("result", call.project, call.session, call.final)):
            _match_pair(world, tool, call)


def final_words(part: Part) -> bytes | None:
    texts = [text.normal for text in part.texts if text.normal]
    if not texts or part.uses:
        return None
    return ids.digest("prompt", "\n".join(texts))


def match_result(world: World, tool: ToolCall) -> None:
    for call in world.calls_at(key("final", tool.project, tool.session, tool.result_text)):
        _match_pair(world, tool, call)


def _match_pair(world: World, tool: ToolCall, last: Call) -> None:
    caller, opening = world.call(tool.call), opening_of(world, last)
    if caller is None or opening is None or opening.agent or tool.prompt or not same_scope(caller, opening):
        return
    if not (caller.started <= opening.started and last.started < tool.closed) or opening.id == caller.id:
        return
    asked = world.loader.answered(caller.response)
    use = next((use for use in (asked.part.uses if asked and asked.part else ()) if use.id == tool.native), None)
    if use is None or tool.id in opening.soft_offers or not set(use.strings) & set(opening.claims):
        return
    opening.soft_offers = tuple(sorted((*opening.soft_offers, tool.id)))
    world.add(key("soft", tool.id), opening.started, opening.id)
    world.save("calls", opening)
    world.openings[opening.id] = None


def opening_of(world: World, call: Call) -> Call | None:
    """Where the line of a call began."""
    seen = 0
    while call.parent and seen < 10_000:
        parent = world.call(call.parent)
        if parent is None:
            return None
        call, seen = parent, seen + 1
    return call if call.relation == "opening" else None


def settle_outcome(world: World, tool: ToolCall) -> None:
    """What the caller's side says about the child: the report, or a notice."""
    task = world.task(tool.child)
    if task is None:
        return
    outcome, at = "", 0
    if tool.notice_status in OUTCOMES:
        outcome, at = OUTCOMES[tool.notice_status], tool.notice_at
    elif tool.shut:
        outcome, at = ("failed" if tool.status == "error" else "completed"), tool.shut
    elif tool.closing is not None:
        outcome, at = {"ok": "completed", "error": "failed"}.get(tool.closing.status, "canceled"), tool.closing.at
    if (task.outcome, task.outcome_at) != (outcome, at):
        task.outcome, task.outcome_at = outcome, at
        world.save("tasks", task)
