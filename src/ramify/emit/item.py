"""An event as it is handed on: complete, and in bytes, so that nobody can change it any more."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple

from ramify.emit.plain import encode
from ramify.emit.scope import Scope

LONGEST = 4 * 2**20  # a server takes no more
SHORT = 1000  # a field that stays when the rest of a payload is cut
HEAVY = ("payload", "result", "body", "raw", "data", "event")
READ = (
    "event_type", "operation_id", "agent_id", "agent_task_id", "task_type", "previous_status", "object_type", "object_id",
    "target_entity", "event_id", "call_id", "transport_task_id", "context_id", "parent_task_id", "duration_ms", "agent_uri",
    "idempotency_key", "operation_name", "http_url", "http_status", "error_code",
)
SORTS = frozenset({"eventType", "event_type", "objectType", "object_type"})
"""One of them makes an event; what has none is a client library's record, by its `kind`."""
NAMES = {name: name[0] + name.title().replace("_", "")[1:] for name in READ}
"""Events are read in both spellings and written in one."""


class Emitted(NamedTuple):
    """One event on its way to a subscriber. The session is no part of it: it is a key, and events are shown."""

    body: bytes
    id: str
    scope: Scope
    inside: tuple[object, ...] = ()  # subscribers that led to it: none of them is told, else they would go round

    @property
    def event(self) -> dict[str, Any]:
        """A new dictionary each time: what one reader does to it, no other sees."""
        found: dict[str, Any] = json.loads(self.body)
        return found


class Ids:
    """Ids that no other process gives: made of a random part of the process and a number."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self._lead = os.urandom(10).hex()
        self._numbers = count(1)

    def next(self, kind: str) -> str:
        return f"{kind}_{self._lead}_{next(self._numbers):x}"


ids = Ids()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def complete(event: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """A copy with everything that can be known here. What the caller says wins."""
    if "kind" in event and SORTS.isdisjoint(event):
        return completed_record(event, scope)
    full = {NAMES.get(name, name): value for name, value in event.items()}
    full.setdefault("timestamp", now())
    if full.get("eventId") is None:
        full["eventId"] = ids.next("evt")
    if full.get("operationId") is None:
        full["operationId"] = scope.operation or f"op_{full.get('callId') or full['eventId']}"
    if scope.name and full["operationId"] == scope.operation:
        full.setdefault("operationName", scope.name)
    if scope.parent_task:
        full.setdefault("parentTaskId", scope.parent_task)
    return full


def completed_record(event: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """What a client library told, in that library's words."""
    full = dict(event)
    full.setdefault("at", now())
    full.setdefault("eventId", ids.next("evt"))
    if full.get("op") is None:
        full["op"] = scope.operation
    return full


def emitted(event: Mapping[str, Any], scope: Scope, inside: tuple[object, ...]) -> Emitted:
    full = complete(event, scope)
    body = encode(full)
    if len(body) > LONGEST:
        body = encode(cut(full))
    return Emitted(body, str(full["eventId"]), scope, inside)


def cut(full: dict[str, Any]) -> dict[str, Any]:
    """Without what is too large: its size and hash instead, and the short fields that say how the work stands."""
    return {name: cut_value(value) if name in HEAVY else shortened(value) for name, value in full.items()}


def cut_value(value: Any) -> dict[str, Any]:
    from hashlib import sha256

    raw = encode(value)
    fields = json.loads(raw)
    kept = {name: each for name, each in fields.items() if is_short(each)} if isinstance(fields, dict) else {}
    few = dict(list(kept.items())[:20])
    return few | {"truncated": True, "bytes": len(raw), "sha256": sha256(raw).hexdigest()}


def is_short(value: Any) -> bool:
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) <= SHORT)


def shortened(value: Any) -> Any:
    raw = encode(value)
    return value if len(raw) <= 64 * SHORT else f"{raw[:SHORT].decode('utf-8', 'replace')}…"
