"""What an agent pushed to a program's own receiver, told as it came."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramify.emit.emitter import Emitter

SECRET = {
    "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-adcp-auth", "x-adcp-signature", "signature",
    "mcp-session-id", "x-a2a-notification-token", "x-ramify-session",
}
REDACTED = "[redacted]"


def webhook(
    raw: bytes | str,
    headers: Mapping[str, str] | None = None,
    path: str = "",
    *,
    agent: str | None = None,
    operation: str | None = None,
    emitter: "Emitter | None" = None,
) -> None:
    """Tells of a push that a program received itself. Agent and operation stand in the path, `…/TASK/AGENT/OPERATION`,
    where they are not given; what the body says of its operation wins. Never raises."""
    from ramify.emit import emitter as own

    (own if emitter is None else emitter).tell(lambda: record(raw, headers or {}, path, agent, operation))


def record(
    raw: bytes | str, headers: Mapping[str, str], path: str, agent: str | None, operation: str | None
) -> dict[str, Any]:
    from urllib.parse import unquote  # only receivers need it

    path = path.partition("?")[0]  # what follows may be a key
    parts = [unquote(part) for part in path.split("/") if part]
    named = parts[-2] if len(parts) >= 3 else None
    found: dict[str, Any] = {"kind": "webhook", "op": operation, "agent": agent or named, "path": path}
    return found | body_of(raw) | {"headers": harmless(headers)}


def body_of(raw: bytes | str) -> dict[str, Any]:
    text = raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
    try:
        return {"body": json.loads(text)}
    except (ValueError, RecursionError):
        return {"raw": text}


def harmless(headers: Mapping[str, str]) -> dict[str, str]:
    return {str(name): REDACTED if str(name).lower() in SECRET else str(value) for name, value in dict(headers).items()}
