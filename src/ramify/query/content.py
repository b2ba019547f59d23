"""What was said, read back from the log: message lists, answers, tool inputs and results."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from ramify.linking.world import FOREVER, key
from ramify.model.entity import Call, ToolCall
from ramify.model.event import MessageSaid
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols.anthropic.answer import Answer
from ramify.protocols.anthropic.normal import CLEARED, blocks_of, result_text
from ramify.protocols.claude import hooks
from ramify.protocols.claude.decode import decode
from ramify.protocols.model_api import messages_of, read_answer
from ramify.protocols.otel import decode as otel
from ramify.query.ahead import Ahead
from ramify.storage.base import Store

Block = dict[str, Any]
TELEMETRY, MOST_TELLERS = "otel", 20
AT_ONCE = 16  # bodies that are read together: of long sessions each is large


class Content:
    """Bodies read for one question are remembered until it is answered."""

    def __init__(self, store: Store) -> None:
        self._ahead = Ahead(store)
        self.store = cast(Store, self._ahead)
        self.expect = self._ahead.expect
        self._lists: dict[str, list[bytes]] = {}
        self._answers: dict[str, Answer] = {}

    def messages(self, call: Call) -> list[bytes]:
        if call.id not in self._lists:
            seen = self.store.observation(call.request)
            self._lists[call.id] = messages_of(seen) if isinstance(seen, Request) else []
        return self._lists[call.id]

    def answer(self, call: Call) -> Answer:
        if call.id not in self._answers:
            self._answers[call.id] = read(self.store.observation(call.response)) if call.response else Answer()
        return self._answers[call.id]

    def new_messages(self, call: Call) -> list[tuple[int, int, Any]]:
        """(index, first block, message) of what this request added to what went before."""
        raws = self.messages(call)
        found = [(0, 0, parse(raws[0]))] if call.relation == "compacted" and raws and call.new_message else []
        return found + [
            (index, call.new_block if index == call.new_message else 0, parse(raws[index]))
            for index in range(call.new_message, len(raws))
        ]

    def tool_blocks(self, calls: list[Call], tools: Sequence[ToolCall]) -> tuple[dict[str, Block], dict[str, Block]]:
        """Inputs and results by tool id: the newest request repeats most of them, so it is read first, and an earlier one only where one that it brought is lacking."""
        uses: dict[str, Block] = {}
        results: dict[str, Block] = {}
        wanted = {tool.native for tool in tools}
        for call in sorted(calls, key=lambda call: -call.started):
            brought = {tool.native for tool in tools if tool.result_call == call.id}
            for raw in self.messages(call) if not (brought <= set(uses) and brought <= set(results)) else ():
                if b"tool_" in raw:
                    _collect(parse(raw), wanted, uses, results)
        return uses, results

    def reported(self, tool: ToolCall) -> tuple[Block, Block]:
        """The call and its result, as reports show them; telemetry and hooks tell of one call in several records."""
        told = tool.told.observation if tool.told else ""
        shown, brought = self._block([tool.shown], "id", tool.native), self._block([told], "tool_use_id", tool.native)
        several = tool.shown_by == TELEMETRY or (tool.told is not None and tool.told.source == TELEMETRY)
        if several or (tool.asker and not (shown and brought)):
            tellers = [ref for _, ref in self.store.span(key("tellers", tool.id), 0, FOREVER, MOST_TELLERS, False)]
            shown = shown or self._block(tellers, "id", tool.native)
            brought = brought or self._block(tellers, "tool_use_id", tool.native)
        return shown, brought

    def _block(self, observations: Sequence[str], name: str, native: str) -> Block:
        for observation in dict.fromkeys(filter(None, observations)):
            seen = self.store.observation(observation)
            for block in reported_blocks(seen) if isinstance(seen, Record) else ():
                if block.get(name) == native:
                    return block
        return {}

    def use(self, tool: ToolCall, caller: Call | None) -> Block:
        if caller is None:
            return {}
        shown = self.reported(tool)[0] if caller.lent else {}  # the wire may have half of its input
        return shown or next((block for block in self.answer(caller).blocks if block.get("id") == tool.native), {})

    def server_result(self, tool: ToolCall, bringer: Call | None) -> Block:
        if bringer is None:
            return {}
        return next((block for block in self.answer(bringer).blocks if block.get("tool_use_id") == tool.native), {})


def _collect(message: Any, wanted: set[str], uses: dict[str, Block], results: dict[str, Block]) -> None:
    for block in blocks_of(message.get("content") if isinstance(message, dict) else None):
        if not isinstance(block, dict):
            continue
        use, answered = block.get("id"), block.get("tool_use_id")
        if block.get("type") == "tool_use" and isinstance(use, str) and use in wanted:
            uses.setdefault(use, block)
        elif (
            block.get("type") == "tool_result"
            and isinstance(answered, str)
            and answered in wanted
            and result_text(block.get("content")).strip() != CLEARED
        ):
            results.setdefault(answered, block)


def reported_blocks(record: Record) -> Iterator[Block]:
    if record.format == otel.FORMAT:
        yield from otel.tool_blocks(record)
        return
    if record.format == hooks.FORMAT:
        yield from hooks.tool_blocks(record)
        return
    for event in decode(record):
        yield from event.blocks if isinstance(event, MessageSaid) else ()


def parse(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {"role": "unknown", "content": raw.decode("utf-8", "replace")}


def answer_of(store: Store, call: Call) -> Answer:
    return read(store.observation(call.response)) if call.response else Answer()


def read(seen: Observation | None) -> Answer:
    return read_answer(seen) if isinstance(seen, Response) else Answer()


def result_value(block: Block) -> Any:
    """A lone text as text, everything else as it is."""
    content = block.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and content[0].get("type") == "text":
        return content[0].get("text")
    return content
