"""The Claude Agent SDK: what its client prints, before the classes drop half of it, and the prompts it is given.

Nothing is switched on in the client and no hook is added: with one, the SDK keeps its input open longer and the
client waits for an answer at every step.
"""

import json
import logging
from collections.abc import AsyncIterable
from typing import Any
from weakref import WeakKeyDictionary

from ramify.capture.instruments.patches import Function, NewTap, Patches, find
from ramify.capture.recorder import Recorded, Tap

log = logging.getLogger("ramify")
REPLAYS = "replay-user-messages"


def install(patches: Patches, new_tap: NewTap) -> None:
    query = find("claude_agent_sdk._internal.query", "Query")
    transport = find("claude_agent_sdk._internal.transport.subprocess_cli", "SubprocessCLITransport")
    if callable(getattr(query, "receive_messages", None)) and callable(getattr(transport, "write", None)):
        Inside(new_tap).install(patches, query, transport)
    else:
        log.info("this version of claude_agent_sdk is recorded by its public messages, which tell less")
        Outside(new_tap).install(patches)


class Inside:
    """Where the SDK reads what the client printed, and writes what it is asked."""

    def __init__(self, new_tap: NewTap) -> None:
        self._new_tap = new_tap
        self._taps: WeakKeyDictionary[Any, Tap] = WeakKeyDictionary()  # by transport: one client, one session at a time

    def install(self, patches: Patches, query: Any, transport: Any) -> None:
        patches.wrap(query, "receive_messages", self._receiving)
        patches.wrap(transport, "write", self._writing)

    def _tap(self, transport: Any) -> Tap:
        tap = self._taps.get(transport)
        if tap is None:
            tap = self._taps[transport] = self._new_tap()
        return tap

    def _receiving(self, original: Function) -> Function:
        def receive(query: Any) -> AsyncIterable[Any]:
            return Recorded(original(query), self._tap(query.transport))

        return receive

    def _writing(self, original: Function) -> Function:
        async def write(transport: Any, line: str, *given: Any, **named: Any) -> Any:
            answer = await original(transport, line, *given, **named)
            content = None if replays(getattr(transport, "_options", None)) else asked(line)
            if content is not None:
                self._tap(transport).tell_prompt(content)
            return answer

        return write


class Outside:
    """The public surface: typed messages, and prompts that are given as text."""

    def __init__(self, new_tap: NewTap) -> None:
        self._new_tap = new_tap
        self._taps: WeakKeyDictionary[Any, Tap] = WeakKeyDictionary()

    def install(self, patches: Patches) -> None:
        import claude_agent_sdk

        client = getattr(claude_agent_sdk, "ClaudeSDKClient", None)
        patches.wrap(claude_agent_sdk, "query", self._querying)
        patches.wrap(client, "receive_messages", self._receiving)
        patches.wrap(client, "query", self._asking)

    def _tap(self, client: Any) -> Tap:
        tap = self._taps.get(client)
        if tap is None:
            tap = self._taps[client] = self._new_tap()
        return tap

    def _querying(self, original: Function) -> Function:
        def query(*given: Any, **named: Any) -> AsyncIterable[Any]:
            tap = self._new_tap()
            if isinstance(named.get("prompt"), str) and not replays(named.get("options")):
                tap.tell_prompt(named["prompt"])
            return Recorded(original(*given, **named), tap)

        return query

    def _receiving(self, original: Function) -> Function:
        def receive(client: Any) -> AsyncIterable[Any]:
            return Recorded(original(client), self._tap(client))

        return receive

    def _asking(self, original: Function) -> Function:
        async def ask(client: Any, prompt: Any, *given: Any, **named: Any) -> Any:
            answer = await original(client, prompt, *given, **named)
            if isinstance(prompt, str) and not replays(getattr(client, "options", None)):
                self._tap(client).tell_prompt(prompt)
            return answer

        return ask


def replays(options: Any) -> bool:
    """Whether the client repeats the prompts in its stream, with ids: then they are told there."""
    given = getattr(options, "extra_args", None)
    return isinstance(given, dict) and REPLAYS in given


def asked(line: object) -> Any:
    """The content of a prompt on its way to the client; None for everything else that goes there."""
    try:
        said = json.loads(line) if isinstance(line, str | bytes) else None
    except ValueError:
        return None
    if not isinstance(said, dict) or said.get("type") != "user" or said.get("parent_tool_use_id"):
        return None
    message = said.get("message")
    return message.get("content") if isinstance(message, dict) else None
