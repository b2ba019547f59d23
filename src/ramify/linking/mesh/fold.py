"""The messages of one task, in order, to what is known of it: its model calls, its tool calls, its thoughts, its end."""

from ramify.linking.mesh import names, toolcalls
from ramify.linking.mesh.rows import SYNTHETIC, bare
from ramify.linking.mesh.state import TERMINAL, Given, State
from ramify.linking.mesh.writing import Writing
from ramify.linking.sighting import Price
from ramify.model.entity import Call
from ramify.model.mesh_event import (
    MeshMessage,
    ModelAnswered,
    ModelAsked,
    Part,
    Signalled,
    Thought,
    ToolReturned,
    ToolStarted,
)
from ramify.model.prices import Tokens
from ramify.model.usage import Usage

IN_ORDER = ModelAsked | ModelAnswered | ToolStarted | ToolReturned | Thought | Signalled


def is_ordered(message: MeshMessage) -> bool:
    """Whether what comes before and after it matters. Words often overtake the answer that they are part of."""
    return message.kind in ("request", "end", "error") or any(isinstance(part, IN_ORDER) for part in message.parts)


def count(state: State, message: MeshMessage, entry: tuple[int, str]) -> None:
    """What is the same in any order."""
    state.first = min(state.first or message.at, message.at)
    state.active = max(state.active, message.at)
    state.guessed = state.guessed or message.guessed
    state.context = min(filter(None, (state.context, message.context)), default="")
    if message.state and entry >= state.moved:
        state.word, state.moved = message.state, entry
    if message.kind == "copy":
        return
    state.messages += 1
    if message.kind != "request" and message.agent and (not state.speaker or entry < state.speaker_at):
        state.speaker, state.speaker_at = message.agent, entry


def fold(work: Writing, message: MeshMessage, price: Price) -> None:
    match message.kind:
        case "request":
            asked(work, message)
        case "end" | "error" if message.state in TERMINAL and not work.state.is_over:
            ended(work, message)  # the first is final
        case _:
            pass
    for number, part in enumerate(message.parts):
        fold_part(work, message, number, part, price)


def asked(work: Writing, message: MeshMessage) -> None:
    """The first request says what the task is, also where its sender's clock is ahead of the agent's and it reads as if
    it came behind the end; a further one takes the task up again."""
    state = work.state
    if state.given is None:
        state.given = given(message)
    elif state.ended:
        state.ended, state.outcome, state.last_words = 0, "", ""
        toolcalls.judge_open(work)
        judge_open_call(work)


def given(message: MeshMessage) -> Given:
    beside = message.properties
    native = {
        "user_id": beside.user if beside else "",
        "delegating_agent_name": beside.delegator if beside else "",
        "function_call_id": message.call,
        "call_depth": beside.depth if beside else 0,
        **message.details,
    }
    return Given(
        message.at, message.received, message.observation.split(" ")[0], message.agent, message.text, message.parent,
        message.call, beside is not None, {name: value for name, value in native.items() if value},
    )  # fmt: skip


def ended(work: Writing, message: MeshMessage) -> None:
    state = work.state
    state.ended, state.outcome, state.last_words, state.end = message.at, message.state, message.text, message.details
    toolcalls.judge_open(work)
    judge_open_call(work)


def fold_part(work: Writing, message: MeshMessage, number: int, part: Part, price: Price) -> None:
    match part:
        case ModelAsked():
            model_asked(work, message, number, part)
        case ModelAnswered() if not part.partial:
            model_answered(work, message, number, part, price)
        case ToolStarted():
            toolcalls.started(work, message, part)
        case ToolReturned():
            toolcalls.returned(work, message, part)
            if part.tokens is not None:
                tool_asked_a_model(work, message, number, part, part.tokens, price)
        case Thought():
            thought(work, message, number, part)
        case Signalled():
            work.state.error = work.state.error or part.text
            toolcalls.flawed(work, part.text)
        case _:
            pass


# -- model calls -------------------------------------------------------------------------------------------------------


def opened(work: Writing, message: MeshMessage, number: int, model: str) -> Call:
    conversation, _, line = work.state.place.partition(" ")
    row = Call(
        names.model_call_id(work.project, message.identity, number), message.observation.split(" ")[0],
        source=names.PROTOCOL, project=work.project, agent_type=message.agent, started=message.at, model=model, message=message.native,
        relation="told", conversation=conversation, line=line, task=work.task, usage=Usage(1),
        sources=(names.PROTOCOL,), protocol=names.PROTOCOL,
    )  # fmt: skip
    work.state.calls += 1
    work.state.usage = work.state.usage + row.usage
    work.put("calls", row)
    return row


def model_asked(work: Writing, message: MeshMessage, number: int, part: ModelAsked) -> None:
    if work.state.open_call and not work.state.is_over:
        work.call(work.state.open_call).status = "error"  # tried again
    work.state.open_call = opened(work, message, number, part.model).id
    work.state.thought, work.state.unasked = "", []
    toolcalls.remembered(work, part.results)


def model_answered(work: Writing, message: MeshMessage, number: int, part: ModelAnswered, price: Price) -> None:
    work.state.thought = ""
    own = names.model_call_id(work.project, message.identity, number)
    work.possible("calls", own)
    row = work.call(work.state.open_call) if work.state.open_call else opened(work, message, number, part.model)
    work.state.open_call = ""
    for thought in work.state.unasked:
        work.note(thought).details["call"] = row.id
    work.state.unasked = []
    row.response, row.ended, row.status = message.observation.split(" ")[0], message.at, "ok"
    row.model = part.model or row.model
    row.stop_reason = "tool_use" if part.tools else "end_turn"
    spend(work, row, part.tokens, price)
    for tool in part.tools:
        toolcalls.decided(work, message, tool, row.id)
    explained(work, message, number, part, row.id)


def spend(work: Writing, row: Call, tokens: Tokens | None, price: Price) -> None:
    if tokens is None:
        return
    cost = price(row.model.rpartition("/")[2], row.started, tokens)
    used = Usage(0, tokens.input, tokens.output, tokens.cache_read, 0, cost or 0, int(cost is None))
    row.usage = row.usage + used
    work.state.usage = work.state.usage + used


def judge_open_call(work: Writing) -> None:
    """Nobody answered it, unless its answer comes late."""
    if work.state.open_call:
        over = "error" if work.state.outcome == "failed" else "aborted"
        work.call(work.state.open_call).status = over if work.state.is_over else "running"


def tool_asked_a_model(
    work: Writing, message: MeshMessage, number: int, part: ToolReturned, tokens: Tokens, price: Price
) -> None:
    row = opened(work, message, number, part.model)
    row.ended, row.status, row.utility = message.at, "ok", "tool"
    spend(work, row, tokens, price)


# -- reasoning ---------------------------------------------------------------------------------------------------------


def explained(work: Writing, message: MeshMessage, number: int, part: ModelAnswered, call: str) -> None:
    """Text beside tools that the model itself asked for."""
    if part.text and any(not tool.call.startswith(SYNTHETIC) for tool in part.tools):
        note = bare(message, "explanation", number)
        note.text, note.model, note.details = part.text, part.model, {"call": call}
        work.put("notes", note)


def thought(work: Writing, message: MeshMessage, number: int, part: Thought) -> None:
    """Pieces of one turn are one thought. One before a tool call gets no end mark: the answer ends it."""
    fresh = bare(message, "thinking", number)
    work.possible("notes", fresh.id)
    if part.text:
        if not work.state.thought:
            work.state.thought = fresh.id
            fresh.details["call"] = work.state.open_call or None
            fresh.model = work.call(work.state.open_call).model if work.state.open_call else ""
            work.put("notes", fresh)
            if not work.state.open_call:
                work.state.unasked.append(fresh.id)
        row = work.note(work.state.thought)
        row.text += part.text
        row.observation = fresh.observation  # the last piece: from there, all of it can be found
        row.details["message_ids"] = [*row.details.get("message_ids", []), message.native]
    if part.complete:
        work.state.thought = ""
