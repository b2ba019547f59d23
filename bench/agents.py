"""Many small sessions of a coding agent, each with a sub-agent: enough of them for a million requests, cheap to make up."""

import json
import random
from collections.abc import Iterator
from functools import cache

from bench.traffic import START, prose, stream
from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Request, Response

TURNS, SUB_TURNS, SUB_AT = 16, 4, 5  # of a session; of its sub-agent; when that is started
SPACING = 50_000_000  # microseconds between the beginnings of two sessions: a million requests are some four weeks
SYSTEM = [{"type": "text", "text": "You are an agent."}, {"type": "text", "text": "Rules. " * 300}]
TOOLS = [{"name": name, "description": "what it does. " * 30, "input_schema": {"type": "object"}} for name in ("Bash", "Read", "Agent")]
HEAD = b'{"model":"claude-sonnet-4-5","messages":['
TAIL = b'],"system":%s,"tools":%s,"max_tokens":32000,"stream":true}' % (json.dumps(SYSTEM).encode(), json.dumps(TOOLS).encode())
MARK = b',"cache_control":{"type":"ephemeral"}}]}'


@cache
def pool() -> str:
    return prose(random.Random("pool"), 4_000_000)


def cut(source: random.Random, size: int) -> str:
    at = source.randrange(len(pool()) - size)
    return pool()[at : at + size]


def message(role: str, *blocks: dict[str, object]) -> bytes:
    return json.dumps({"role": role, "content": list(blocks)}, separators=(",", ":")).encode()


class Line:
    """One line of requests that repeat their history: a session's own, or its sub-agent's."""

    def __init__(self, source: random.Random, session: str, agent: str, at: int, prompt: str) -> None:
        self.source, self.session, self.agent, self.at = source, session, agent, at
        self.count = 0
        self.messages = [message("user", {"type": "text", "text": prompt})]
        headers = [("content-type", "application/json"), ("user-agent", "claude-cli/2.1.325"), ("x-claude-code-session-id", session)]
        self.headers = tuple([*headers, ("x-claude-code-agent-id", agent)] if agent else headers)

    def ask(self) -> Request:
        """The mark for the cache sits on the newest message, and moves on."""
        self.count += 1
        body = HEAD + b",".join([*self.messages[:-1], self.messages[-1][:-3] + MARK]) + TAIL
        self.id = observation_id("bench", self.session, self.agent, self.count)
        return Request(self.id, "default", self.at, "proxy", self.id, "POST", "/v1/messages?beta=true", self.headers, body)

    def answer(self, name: str, given: dict[str, str], result: str) -> Response:
        tool = f"toolu_{self.source.randrange(1 << 96):024x}"
        said = cut(self.source, self.source.randint(40, 300))
        self.messages.append(message("assistant", {"type": "text", "text": said}, {"type": "tool_use", "id": tool, "name": name, "input": given}))
        self.messages.append(message("user", {"type": "tool_result", "tool_use_id": tool, "content": result}))
        self.at += 3_000_000
        raw = stream(f"msg_{self.source.randrange(1 << 96):024x}", said, tool, given).replace(b'"name": "Bash"', b'"name": "%s"' % name.encode())
        headers = (("content-type", "text/event-stream"), ("request-id", f"req_{self.source.randrange(1 << 96):024x}"))
        return Response(self.id + "r", "default", self.at, "proxy", self.id, "/v1/messages?beta=true", 200, headers, raw, "complete", self.at - 2_500_000)


def turn(line: Line) -> list[Observation]:
    source = line.source
    given = {"command": cut(source, 60), "description": "look"}
    return [line.ask(), line.answer("Bash", given, cut(source, int(300 * 20 ** source.random())))]


def session(number: int) -> Iterator[list[Observation]]:
    """Turn by turn. Each begins with a word that no other session says."""
    source = random.Random(f"session {number}")
    name = f"session-{source.randrange(1 << 96):024x}"
    line = Line(source, name, "", START + number * SPACING, f"Task needle{number}: " + cut(source, 300))
    for count in range(TURNS):
        if count != SUB_AT:
            yield turn(line)
            continue
        prompt = f"Look into part {number} of it: " + cut(source, 200)
        yield [line.ask(), line.answer("Agent", {"prompt": prompt, "description": "look", "subagent_type": "Explore"}, cut(source, 900))]
        under = Line(source, name, f"a{source.randrange(1 << 64):016x}", line.at - 2_900_000, prompt)
        for _ in range(SUB_TURNS):
            yield turn(under)
        line.at = max(line.at, under.at)


def sessions(first: int, width: int = 20) -> Iterator[list[Observation]]:
    """For ever, `width` of them side by side; `first` is the number of the first one."""
    while True:
        together = [session(first + at) for at in range(width)]
        first += width
        for parts in zip(*together, strict=True):
            yield [seen for part in parts for seen in part]


REQUESTS = TURNS + SUB_TURNS  # of one session
