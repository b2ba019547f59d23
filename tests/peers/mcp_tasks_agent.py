"""An agent with the tasks extension of MCP: `python mcp_tasks_agent.py NAME PORT [VERSION]`. Each call of its tool becomes a task, which
goes on when it is told to; with a version, it is asked about them in that one alone."""

import sys
from typing import Any, Literal

from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, RequestParams, Result

INVALID_PARAMS = -32602
tasks: dict[str, str] = {}


class TaskAnswer(Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    ttl_ms: int = 60_000
    poll_interval_ms: int = 100


class Which(RequestParams):
    task_id: str


async def get_task(context: Any, params: Which) -> TaskAnswer:
    if params.task_id not in tasks:
        raise MCPError(INVALID_PARAMS, "no such task")
    return TaskAnswer(task_id=params.task_id, status=tasks[params.task_id])


class Tasks(Extension):
    identifier = "io.modelcontextprotocol/tasks"

    def methods(self) -> list[MethodBinding]:
        versions = frozenset(sys.argv[3:4]) or None
        return [MethodBinding("tasks/get", Which, get_task, versions)]

    async def intercept_tool_call(self, params: CallToolRequestParams, ctx: Any, call_next: Any) -> Any:
        if params.name != "sync_creatives":
            return await call_next(ctx)
        id = f"task_{len(tasks) + 1:04}"
        tasks[id] = "working"
        return TaskAnswer(task_id=id, status="working")


server = MCPServer(sys.argv[1], extensions=[Tasks()])


@server.tool()
async def sync_creatives(number: int) -> str:
    raise AssertionError("it becomes a task")


@server.tool()
async def advance(task_id: str, status: str) -> str:
    if status == "forgotten":
        del tasks[task_id]
    else:
        tasks[task_id] = status
    return status


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
