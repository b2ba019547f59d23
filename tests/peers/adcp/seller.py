"""An AdCP seller over MCP, streamable HTTP: `python seller.py NAME PORT`. It takes work, and says how it stands when it is asked."""

import sys
from typing import Any

from mcp.server.mcpserver import MCPServer

server = MCPServer(sys.argv[1])
tasks: dict[str, dict[str, Any]] = {}


@server.tool()
async def get_adcp_capabilities(protocols: list[str] | None = None) -> dict[str, Any]:
    return {
        "adcp": {"major_versions": [3], "supported_versions": ["3.2"], "idempotency": {"supported": True, "replay_ttl_seconds": 86400}},
        "supported_protocols": ["media_buy"],
    }  # fmt: skip


@server.tool()
async def sync_creatives(
    creatives: list[dict[str, Any]], idempotency_key: str = "", context: dict[str, Any] | None = None,
    push_notification_config: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The operation that it is to name in pushes comes back in the answer's context, for the test to see."""
    named = (push_notification_config or {}).get("operation_id")
    context = {**(context or {}), "told_operation": named}
    id = f"task_{len(tasks) + 1:04}"
    tasks[id] = {
        "task_id": id, "task_type": "sync_creatives", "protocol": "media-buy", "status": "completed",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:01:00Z",
    }  # fmt: skip
    return {"status": "submitted", "task_id": id, "context": context}


@server.tool()
async def get_products(brief: str = "") -> dict[str, Any]:
    return {"products": [], "status": "completed", "cache_scope": "public"}


@server.tool()
async def get_task_status(task_id: str) -> dict[str, Any]:
    return tasks.get(task_id) or {"adcp_error": {"code": "TASK_NOT_FOUND", "message": f"no task {task_id}"}}


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
