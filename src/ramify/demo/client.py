"""A client of the Messages API that works as Claude Code does: growing histories, agents, notifications.

It is small and plays a part; what it sends has the headers and shapes that tell a real client's agents apart.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import aiohttp

from ramify.demo.wire import Json
from ramify.model.ids import digest

TRIES = 5
Toolbox = Callable[[str, Json], tuple[str, float]]
"""From a tool's name and arguments to what it gave back and how long it took."""

TOOLS: list[Json] = [
    {"name": name, "description": words, "input_schema": {"type": "object", "properties": {}}}
    for name, words in (
        ("Agent", "Gives a piece of work to another agent."),
        ("Bash", "Runs a command."),
        ("Read", "Reads a file."),
        ("Edit", "Changes a file."),
        ("Write", "Writes a file."),
        ("Grep", "Searches the files."),
    )
]


@dataclass
class Client:
    """One session: who is called, which tools there are, how fast time runs."""

    http: aiohttp.ClientSession
    base_url: str
    session: str
    toolbox: Toolbox
    pace: float
    notes: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    running: set[asyncio.Task[None]] = field(default_factory=set)

    def headers(self, line: "Line") -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "claude-cli/2.1.325 (external, sdk-cli)",
            "X-Claude-Code-Session-Id": self.session,
            "anthropic-version": "2023-06-01",
            "x-api-key": "sk-ant-demo",
            "x-app": "cli",
        }
        if line.agent:
            headers["x-claude-code-agent-id"] = line.agent
        if line.parent:
            headers["x-claude-code-parent-agent-id"] = line.parent
        return headers


@dataclass
class Line:
    """One line of work: the person's own, or an agent's. `parent` is the agent above, if there is one."""

    client: Client
    agent: str = ""
    parent: str = ""
    model: str = "claude-opus-5-5"
    messages: list[Json] = field(default_factory=list)

    async def work(self, words: str) -> str:
        """Says it, does what the model asks for until it asks no more, and returns its last words."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": words}]})
        while True:
            answer = await self._ask()
            self.messages.append({"role": "assistant", "content": answer})
            calls = [block for block in answer if block["type"] == "tool_use"]
            if not calls:
                return "\n".join(block["text"] for block in answer if block["type"] == "text")
            results = await asyncio.gather(*(self._use(call) for call in calls))
            self.messages.append({"role": "user", "content": results})

    async def _ask(self) -> list[Json]:
        body = {
            "model": self.model,
            "max_tokens": 32000,
            "system": [{"type": "text", "text": "You work on a small shop's website, alone or with others."}],
            "messages": self.messages,
            "tools": TOOLS,
            "metadata": {"user_id": json.dumps({"device_id": "demo", "session_id": self.client.session})},
            "stream": True,
        }
        url = self.client.base_url + "/v1/messages?beta=true"
        for attempt in range(TRIES):
            async with self.client.http.post(url, json=body, headers=self.client.headers(self)) as response:
                if response.status == 200:
                    return await assembled(response.content)
            await asyncio.sleep(self.client.pace * 2**attempt)
        raise ConnectionError(f"{url} gave no answer in {TRIES} tries")

    async def _use(self, call: Json) -> Json:
        if call["name"] != "Agent":
            result, seconds = self.client.toolbox(call["name"], call["input"])
            await asyncio.sleep(seconds * self.client.pace)
        elif call["input"].get("run_in_background"):
            result = self._launch(call)
        else:
            result = await self._delegate(call)
        return {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": [{"type": "text", "text": result}],
        }

    def _child(self, call: Json) -> "Line":
        agent = "a" + digest(self.client.session, call["id"]).hex()[:16]
        return Line(self.client, agent, parent=self.agent, model="claude-sonnet-5")

    async def _delegate(self, call: Json) -> str:
        child = self._child(call)
        report = await child.work(call["input"]["prompt"])
        indented = "\n".join("  " + line for line in report.splitlines())
        return f"[Subagent hand-back] The report follows:\n{indented}\nagentId: {child.agent}"

    def _launch(self, call: Json) -> str:
        child = self._child(call)

        async def background() -> None:
            try:
                status, report = "completed", await child.work(call["input"]["prompt"])
            except (aiohttp.ClientError, ConnectionError) as error:
                status, report = "failed", str(error)  # or the main line would wait for ever
            await self.client.notes.put(notification(child.agent, call, status, report))

        task = asyncio.create_task(background())
        self.client.running.add(task)
        task.add_done_callback(self.client.running.discard)
        return f"Async agent launched successfully.\nagentId: {child.agent}"


def notification(agent: str, call: Json, status: str, report: str) -> str:
    return (
        "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n\n<task-notification>\n"
        f"<task-id>{agent}</task-id>\n<tool-use-id>{call['id']}</tool-use-id>\n<status>{status}</status>\n"
        f'<summary>Agent "{call["input"]["description"]}" finished</summary>\n<result>{report}</result>\n'
        "</task-notification>\n</system-reminder>"
    )


async def assembled(stream: aiohttp.StreamReader) -> list[Json]:
    """The blocks of an answer, from its events."""
    blocks: list[Json] = []
    raw = ""
    async for event in payloads(stream):
        match event["type"]:
            case "content_block_start":
                blocks.append(event["content_block"])
                raw = ""
            case "content_block_delta" if event["delta"]["type"] == "input_json_delta":
                raw += event["delta"]["partial_json"]
            case "content_block_delta":
                for name, piece in event["delta"].items():
                    if name != "type":
                        blocks[-1][name] += piece
            case "content_block_stop" if blocks[-1]["type"] == "tool_use":
                blocks[-1]["input"] = json.loads(raw or "{}")
    return blocks


async def payloads(stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
    async for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])
