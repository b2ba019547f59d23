"""An agent that speaks MCP over streamable HTTP: `python mcp_agent.py NAME PORT`. Its tools do what they are asked to."""

import asyncio
import json
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer(sys.argv[1])


@server.tool()
async def sync_creatives(count: int) -> dict[str, Any]:
    return {"status": "submitted", "task_id": f"task_{count:04}"}


@server.tool()
async def get_products(brief: str) -> dict[str, Any]:
    return {"products": [brief]}


@server.tool()
async def steps(context: Context) -> str:
    for number in range(3):
        await context.report_progress(number, 3, json.dumps({"subtask": f"part_{number}", "state": "working"}))
    return "done"


@server.tool()
async def fails() -> str:
    raise ValueError("no such creative")


@server.tool()
async def sleeps(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
async def echo_meta(context: Context) -> dict[str, Any]:
    meta = context.request_context.meta
    headers = context.request_context.request.headers if context.request_context.request is not None else {}
    return {"traceparent": dict(meta or {}).get("traceparent"), "header": headers.get("traceparent")}


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
