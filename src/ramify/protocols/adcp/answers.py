"""What an answer says about the work: its status and its ids, whatever transport it came by."""

from ramify.model.operation_event import ENDED, RANKS, Answered
from ramify.protocols.adcp.forms import carried, inner, made_task, payload_status
from ramify.protocols.adcp.wire import Line, named, table, text
from ramify.protocols.adcp.words import raised_status, status_word


def read_answer(line: Line, payload: object, whole: bool) -> Answered:
    """The first that applies: an open state in the payload, the transport's state, a failure, the client's word."""
    data, metadata = inner(payload), table(line.get("metadata"))
    wired, task = carried(data), made_task(data)
    work, transport = named(data.get("task_id")), named(metadata.get("task_id"))
    said, wire = [payload_status(data)], [status_word(metadata.get("status"))]
    if wired is not None:
        work = next((word.id for word in wired.words if word.of == "work"), "")
        transport = next((word.id for word in wired.words if word.of == "transport"), transport)
        said = [payload_status(wired.data or {}), *(word.status for word in wired.words if word.of == "work")]
        wire = [*(word.status for word in wired.words if word.of == "transport" and word.status != "unknown"), *wire]
    elif task is not None:
        transport, wire = task.id, [task.status, *wire]
    own, transported = first(said), first(wire)
    failed = is_failure(line, payload) or bool(data.get("adcp_error"))
    status = own or transported or ("failed" if failed else client_word(line) or "completed")
    return answered(line, status, work, transport, whole, transported, not own and bool(transported))


def first(words: list[str]) -> str:
    return next((word for word in words if word), "")


def read_before(line: Line, read: Line, whole: bool) -> Answered:
    """Of an answer whose payload was cut: what it said is kept beside it."""
    status, work, transport = status_word(read.get("status")) or "completed", text(read.get("work")), text(read.get("transport"))
    carried_state = read.get("carried") is True
    return Answered(status, native_word(line), work, transport, whole=whole, carried=carried_state, milliseconds=spent(line))


def answered(line: Line, status: str, work: str, transport: str, whole: bool, transported: str, carried_state: bool) -> Answered:
    work = text(line.get("agentTaskId")) or work
    transport = text(line.get("transportTaskId")) or transport
    carries = not work or work == transport
    if not work and transport and RANKS[transported or status] < ENDED:
        work = transport  # the transport's task is the work
    return Answered(status, native_word(line), work, transport, whole=whole, carried=carried_state and carries, milliseconds=spent(line))


def client_word(line: Line) -> str:
    word = status_word(line.get("status"))
    return "" if word == "unknown" else word


def native_word(line: Line) -> str:
    data = inner(line.get("payload", line.get("data")))
    return text(data.get("status")) or text(table(line.get("metadata")).get("status")) or text(line.get("status"))


def is_failure(line: Line, payload: object) -> bool:
    """By the client's word, or by an answer that it has not looked into."""
    refused = line.get("success") is False or bool(line.get("adcp_error")) or bool(line.get("adcpError"))
    whole = table(payload)
    if "jsonrpc" in whole:
        refused, whole = refused or isinstance(whole.get("error"), dict), table(whole.get("result"))
    return refused or whole.get("isError") is True


def read_failure(line: Line, read: Line, whole: bool) -> Answered:
    """A call that broke: by the name of what was raised."""
    error = line.get("error")
    name = text(read.get("native")) or text(line.get("raised")) or text(table(error).get("type")) or text(table(error).get("name"))
    name = name or text(error).partition(":")[0]
    return Answered(
        raised_status(name), name, text(line.get("agentTaskId")), text(line.get("transportTaskId")), raised=True,
        whole=whole, milliseconds=spent(line),
    )  # fmt: skip


def spent(line: Line) -> float | None:
    value = line.get("durationMs", line.get("ms"))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
