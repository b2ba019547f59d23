"""The real Claude Agent SDK in a program of its own: what a person would write, with one line of ours added."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.test_main import SOURCE
from tests.peers.claude_cli import environment

HEAD = """
import asyncio, json, logging, sys
import ramify
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, query
logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
options = ClaudeAgentOptions(allowed_tools=["Bash", "Agent", "Task", "Read"], max_turns=20)
def show(message):
    print(json.dumps([type(message).__name__, repr(message)]))
"""
PLAIN = HEAD + """
async def main():
    async for message in query(prompt=sys.argv[1], options=options):
        show(message)
asyncio.run(main())
"""
RECORDED = PLAIN.replace("query(prompt=sys.argv[1], options=options)", "ramify.record(query(prompt=sys.argv[1], options=options), prompt=sys.argv[1])")
INSTRUMENTED = PLAIN.replace("async def main", "ramify.instrument()\nasync def main")
BOTH = RECORDED.replace("async def main", "ramify.instrument()\nasync def main")
TALK = HEAD + """
ramify.instrument()
async def main():
    async with ClaudeSDKClient(options) as client:
        for prompt in sys.argv[1:]:
            await client.query(prompt)
            async for message in client.receive_response():
                show(message)
asyncio.run(main())
"""


@dataclass(frozen=True)
class SdkRun:
    exit: int
    messages: list[tuple[str, str]]
    errors: str


async def run_program(
    program: str, prompts: Sequence[str], base_url: str, folder: Path, **variables: str
) -> SdkRun:
    """`folder` is the program's whole world."""
    for name in ("home", "config", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    world = environment(base_url, folder) | {"PYTHONPATH": SOURCE, "XDG_DATA_HOME": str(folder / "data")} | variables
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *prompts,
        cwd=folder / "work", env=world,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        output, errors = await asyncio.wait_for(child.communicate(), 60)
    finally:
        if child.returncode is None:
            child.kill()
    messages = [tuple(json.loads(line)) for line in output.decode().splitlines()]
    return SdkRun(child.returncode or 0, messages, errors.decode())
