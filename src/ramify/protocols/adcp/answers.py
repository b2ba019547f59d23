"""What an answer says about the work: its status and its ids, whatever transport it came by."""

from ramify.model.operation_event import ENDED, RANKS, Answered
from ramify.protocols.adcp.forms import carried, inner, mcp_task, payload_status
from ramify.protocols.adcp.wire import Line, table, text
from ramify.protocols.adcp.words import raised_status, status_word


def read_answer(line: Line, payload: object, whole: bool) -> Answered:
    """The first that applies: an open state in the payload, the transport's state, a failure, the client's word."""
    data, metadata = inner(payload), table(line.get("metadata"))
    wired, task = carried(data), mcp_task(data)
    work, transport = text(data.get("task_id")), text(metadata.get("task_id"))
    said = [payload_status(data)]
    if wired is not None:
        work = next((word.id for word in wired.words if word.of == "work"), "")
        transport = next((word.id for word in wired.words if word.of == "transport"), transport)
        said = [payload_status(wired.data or {}), *(word.status for word in wired.words if word.status != "unknown")]
    elif task is not None:
        transport, said = task.id, [*said, task.status]
    said += [status_word(metadata.get("status")), "failed" if is_failure(line, payload) else "", client_word(line)]
    status = next((word for word in said if word), "completed")
    return answered(line, status, work, transport, whole)


def answered(line: Line, status: str, work: str, transport: str, whole: bool) -> Answered:
    work = text(line.get("agentTaskId")) or work
    transport = text(line.get("transportTaskId")) or transport
    if not work and transport and RANKS[status] < ENDED:
        work = transport  # the transport's task is the work
    return Answered(status, native_word(line), work, transport, whole=whole, milliseconds=spent(line))


def client_word(line: Line) -> str:
    word = status_word(line.get("status"))
    return "" if word == "unknown" else word


def native_word(line: Line) -> str:
    data = inner(line.get("payload", line.get("data")))
    return text(data.get("status")) or text(table(line.get("metadata")).get("status")) or text(line.get("status"))


def is_failure(line: Line, payload: object) -> bool:
    refused = line.get("success") is False or bool(line.get("adcp_error")) or bool(line.get("adcpError"))
    return refused or table(payload).get("isError") is True


def read_failure(line: Line, whole: bool) -> Answered:
    """A call that broke: by the name of what was raised."""
    error = line.get("error")
    name = text(line.get("raised")) or text(table(error).get("type")) or text(table(error).get("name"))
    name = name or text(error).partition(":")[0]
    return Answered(
        raised_status(name), name, text(line.get("agentTaskId")), text(line.get("transportTaskId")), raised=True,
        whole=whole, milliseconds=spent(line),
    )  # fmt: skip


def spent(line: Line) -> float | None:
    value = line.get("durationMs", line.get("ms"))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
