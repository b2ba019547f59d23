"""A host program of the Python SDK, run as a process of its own: `python -m tests.peers.recording.sdk FOLDER < PLAN`.

The plan is JSON: the options of the SDK, and what is said. Written down: the messages, and what the callbacks got.
"""

import asyncio
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultMessage, fork_session

EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"),
    *("SubagentStart", "SubagentStop", "PreCompact", "Notification"),
)


def line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) + "\n"


async def talk(folder: Path, plan: dict[str, Any]) -> None:
    """`plan["said"]`: pairs of a prompt and the number of results to wait for.

    `plan["fork"]`: the session, if any, whose file the SDK copies first, without the client.
    """
    with (folder / "sdk_hooks.jsonl").open("a") as hooks, (folder / "sdk_messages.jsonl").open("a") as messages:

        async def keep(given: Any, tool: str | None, _context: Any) -> Any:
            hooks.write(line({"input": given, "tool_use_id": tool}))
            return {}

        if plan["fork"]:
            forked = fork_session(plan["fork"], directory=plan["options"]["cwd"])
            plan["options"]["resume"] = forked.session_id
        matchers: Any = {event: [HookMatcher(hooks=[keep])] for event in EVENTS}
        async with ClaudeSDKClient(ClaudeAgentOptions(hooks=matchers, **plan["options"])) as client:
            for prompt, results in plan["said"]:
                await client.query(prompt)
                left = results
                async for message in client.receive_messages():
                    messages.write(line({"class": type(message).__name__, **dataclasses.asdict(message)}))
                    left -= isinstance(message, ResultMessage)
                    if left == 0:
                        break


if __name__ == "__main__":
    asyncio.run(talk(Path(sys.argv[1]), json.load(sys.stdin)))
