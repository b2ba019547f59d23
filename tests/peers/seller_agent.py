"""An AdCP seller over MCP, streamable HTTP: `python seller_agent.py NAME PORT`. Its work goes on when it is told to."""

import sys
from typing import Any

from mcp.server.mcpserver import MCPServer

server = MCPServer(sys.argv[1])
tasks: dict[str, dict[str, Any]] = {}
mood = {"broken": False, "cut": False}


@server.tool()
async def sync_creatives(creative: str) -> dict[str, Any]:
    task = {"task_id": f"task_{len(tasks) + 1:04}", "task_type": "sync_creatives", "status": "submitted", "updated_at": "2026-01-01T00:00:00Z"}
    tasks[task["task_id"]] = task
    return {"task_id": task["task_id"], "status": "submitted", "message": creative}


@server.tool()
async def get_task_status(task_id: str) -> dict[str, Any]:
    if mood["broken"]:
        raise RuntimeError("the database is away")
    if task_id not in tasks:
        return {"adcp_error": {"code": "TASK_NOT_FOUND", "message": f"no task {task_id}"}}
    return dict(tasks[task_id])


@server.tool()
async def list_tasks(filters: dict[str, Any], pagination: dict[str, Any] | None = None) -> dict[str, Any]:
    if mood["broken"]:
        raise RuntimeError("the database is away")
    found = [task for id, task in tasks.items() if id in filters.get("task_ids", ())]
    start = int((pagination or {}).get("cursor") or 0)
    page = found[start : start + 2]
    more = start + 2 < len(found)
    cursor = None if mood["cut"] else str(start + 2)
    return {"status": "completed", "tasks": page, "pagination": {"has_more": more, "cursor": cursor if more else None}}


@server.tool()
async def advance(task_id: str, status: str, at: str = "2026-01-01T00:01:00Z") -> dict[str, Any]:
    tasks[task_id] = {**tasks[task_id], "status": status, "updated_at": at}
    return tasks[task_id]


@server.tool()
async def forget(task_id: str) -> dict[str, Any]:
    return tasks.pop(task_id, {})


@server.tool()
async def feel(broken: bool = False, cut: bool = False) -> dict[str, Any]:
    mood.update(broken=broken, cut=cut)
    return dict(mood)


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
