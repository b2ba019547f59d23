"""Names on the wire: fields of task events and client records, methods that only ask, and the limits of one line."""

from typing import Any

Line = dict[str, Any]

TASK_EVENTS = (
    "protocol_request", "protocol_response", "status_update", "protocol_error", "webhook_received", "progress", "reconciliation",
)  # fmt: skip
KINDS = ("activity", "result", "webhook", "poll", "listing", "stream", "progress", "agent")
SOURCES = ("client", "webhook", "poll", "listing", "stream", "reconciler")
ASKED_AGAIN = ("poll", "listing", "reconciler")
"""Sources whose word is the agent's own answer to a question."""

POLLS = frozenset({"get_task_status", "tasks_get", "tasks/get", "GetTask"})
LISTINGS = frozenset({"list_tasks", "tasks_list", "tasks/list", "ListTasks"})
DISCOVERY = frozenset({"get_adcp_capabilities", "tools/list", "server/discover", "initialize", "GetAgentCard"})
ONLY_ASKING = POLLS | LISTINGS | DISCOVERY

LONGEST_ID = 255
LONGEST_KEY = 255
LARGEST_EVENT = 4 * 2**20
OWN = "ramify"
"""The member of a stored line that the store has added: session, clock, digests."""

FIELDS = (
    "eventType", "operationId", "agentId", "taskType", "agentTaskId", "timestamp", "protocol", "method", "payload", "status",
    "previousStatus", "result", "error", "objectType", "objectId", "targetEntity", "eventId", "source", "callId",
    "transportTaskId", "contextId", "parentTaskId", "durationMs", "agentUri", "idempotencyKey", "notificationId", "raised",
)  # fmt: skip
OF_RECORDS = (
    "kind", "at", "seq", "op", "agent", "session", "call", "activity", "ms", "success", "adcp_error", "metadata", "data", "message",
    "path", "body", "raw", "headers", "signed", "took", "event", "progress", "total", "uri", "reconciled",
)  # fmt: skip
"""Fields of client records beside those."""
STORED = ("seq", "recordedAt", "flags")
"""Set by the store alone: what a caller writes there is not taken over."""

IDS = ("operationId", "agentId", "taskType", "agentTaskId", "eventId", "callId", "transportTaskId", "contextId", "parentTaskId")


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


SNAKES = {snake(name): name for name in FIELDS if snake(name) != name}


def camelled(line: Line) -> Line:
    """Our own fields in one spelling; where both are there, the camel's counts."""
    return {SNAKES[name] if name in SNAKES and SNAKES[name] not in line else name: value for name, value in line.items()}


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def named(value: object) -> str:
    """An id inside a payload. What is longer than any id is none: nothing is found by it."""
    return value if isinstance(value, str) and len(value) <= LONGEST_ID else ""


def table(value: object) -> Line:
    return value if isinstance(value, dict) else {}
