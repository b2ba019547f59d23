"""Deterministic coding-agent traffic: sessions of growing requests with tool results of 2 to 40 kB and sub-agents."""

import json
import random
from collections.abc import Iterator

from ramify.model.observation import Observation, Request, Response

WORDS = [
    "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz", k=2 + seed % 9)) for seed in range(4000)
]
TOOLS = [
    {"name": f"tool_{n}", "description": "what it does, in many words. " * 40, "input_schema": {"type": "object"}}
    for n in range(14)
]
SYSTEM = [
    {"type": "text", "text": "You are an agent."},
    {"type": "text", "text": "Rules. " * 1500, "cache_control": {"type": "ephemeral"}},
]
START = 1_790_000_000_000_000


PHRASES = [" ".join(random.Random(f"phrase{n}").choices(WORDS[:800], k=3 + n % 5)) for n in range(1500)]


def prose(source: random.Random, size: int) -> str:
    """Lines like code and logs: phrases come again, numbers do not. Compresses about four to one, as such texts do."""
    out: list[str] = []
    length = 0
    while length < size:
        line = f"{source.randint(1, 99999):>6}  {source.choice(PHRASES)} {source.choice(PHRASES)} {source.choice(WORDS)}"
        out.append(line)
        length += len(line) + 1
    return "\n".join(out)[:size]


def size_of_result(source: random.Random) -> int:
    """From 2 to 40 kB; small ones are as common as tools make them."""
    return int(2000 * 20 ** source.random())


class Session:
    """One session; each `turn` gives the request and the response of the next call."""

    def __init__(self, number: int, seed: int = 0, named: bool = True) -> None:
        self.source = random.Random(f"{seed}/{number}")
        self.number = number
        self.named = named
        self.at = START + number * 1_000_000
        self.count = 0
        self.messages: list[dict[str, object]] = []
        self.pending: list[dict[str, object]] = [
            {"role": "user", "content": [{"type": "text", "text": f"Task {seed}/{number}: " + prose(self.source, 300)}]}
        ]

    def turn(self, agent: str = "") -> tuple[Request, Response]:
        self.messages += self.pending
        body = self.body()
        answer, results = self.answer()
        headers: list[tuple[str, str]] = [("content-type", "application/json"), ("user-agent", "claude-cli/2.1.325")]
        if self.named:
            headers.append(("x-claude-code-session-id", f"session-{self.number}"))
        if agent:
            headers.append(("x-claude-code-agent-id", agent))
        self.count += 1
        id = f"obs_bench-{self.number}-{agent}-{self.count}"
        request = Request(id, "default", self.at, "proxy", id, "POST", "/v1/messages?beta=true", tuple(headers), body)
        self.at += 3_000_000
        response = Response(
            id + "r", "default", self.at, "proxy", id, "/v1/messages?beta=true", 200,
            (("content-type", "text/event-stream"), ("request-id", f"req_{self.source.randrange(1 << 96):024x}")), answer, "complete", self.at - 2_500_000,
        )
        self.pending = results
        self.at += 500_000
        return request, response

    def body(self) -> bytes:
        """As the real client writes it: the mark for the cache sits on the newest message, and moves on."""
        newest = self.messages[-1]
        marked = [dict(block) for block in newest["content"]]  # type: ignore[attr-defined]
        marked[-1]["cache_control"] = {"type": "ephemeral"}
        messages = [*self.messages[:-1], {"role": newest["role"], "content": marked}]
        whole = {
            "model": "claude-sonnet-4-5", "messages": messages, "system": SYSTEM, "tools": TOOLS,
            "metadata": {"user_id": f"user-{self.number % 50}"}, "max_tokens": 32000, "stream": True,
        }
        return json.dumps(whole, separators=(",", ":")).encode()

    def answer(self) -> tuple[bytes, list[dict[str, object]]]:
        id = f"toolu_{self.source.randrange(1 << 96):024x}"  # like the real ones, in no order
        said = prose(self.source, self.source.randint(40, 400))
        given = {"command": prose(self.source, 60), "description": "look"}
        blocks = [{"type": "text", "text": said}, {"type": "tool_use", "id": id, "name": "Bash", "input": given}]
        result = {"type": "tool_result", "tool_use_id": id, "content": prose(self.source, size_of_result(self.source))}
        self.messages_after = [{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
        return stream(f"msg_{self.source.randrange(1 << 96):024x}", said, id, given), self.messages_after  # type: ignore[return-value]


def stream(message: str, said: str, tool: str, given: dict[str, str]) -> bytes:
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 9000, "output_tokens": 1}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {"id": message, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [], "usage": usage}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    events += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said[at : at + 24]}}
        for at in range(0, len(said), 24)
    ]
    text = json.dumps(given)
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": tool, "name": "Bash", "input": {}}},
    ]
    events += [
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": text[at : at + 20]}}
        for at in range(0, len(text), 20)
    ]
    events += [
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 120}},
        {"type": "message_stop"},
    ]
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), json.dumps(event).encode()) for event in events)


def traffic(requests: int, turns: int = 36, width: int = 20, named: bool = True) -> Iterator[list[Observation]]:
    """`width` sessions side by side, each of `turns` turns, until there were so many requests."""
    number = 0
    made = 0
    while made < requests:
        sessions = [Session(number + n, named=named) for n in range(width)]
        number += width
        for _ in range(turns):
            batch: list[Observation] = []
            for session in sessions:
                batch += session.turn()
                made += 1
            yield batch
            if made >= requests:
                return
