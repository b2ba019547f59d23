"""Messages of an agent mesh that nobody sent, always the same: several runs at once, as a broker would carry them.

An orchestrator gives work to peers, some of which have peers of their own. What a peer says comes again as a copy, cards
of agents come all the time, some tools fail, some tasks do, and people judge some of the answers.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, zip_longest
from typing import Any

import msgspec

Json = dict[str, Any]
Steps = Iterator[Json]
ROOT = "shop/mesh/a2a/v1"
START = 1_790_000_000_000_000
STEP = 100_000  # microseconds from one message to the next
AT_ONCE = 12  # runs that are under way
PEERS = ("StockAgent", "PriceAgent", "MailAgent", "LedgerAgent", "ShippingAgent", "WeatherAgent", "HRAgent", "LegalAgent")
TOOLS = ("count_stock", "read_ledger", "find_orders", "get_prices", "send_mail", "make_chart", "look_up_address", "get_forecast")
MODELS = ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5", "openai/fake-model")
NOUNS = ("teas", "parcels", "invoices", "suppliers", "baskets", "letters", "shelves", "holidays")
RARE = range(4)  # the oldest runs speak of marmalade: whoever walks from the newest on meets them last
CARDS = 12  # messages between two of them
LARGE = 400  # one run among so many is large
encode = msgspec.json.Encoder().encode


@dataclass
class Clock:
    now: int = START

    def iso(self) -> str:
        return datetime.fromtimestamp(self.now / 1e6, UTC).isoformat()


@dataclass
class Work:
    """A task: who does it, what for, under whom, and what its models have been given to read so far."""

    id: str
    agent: str
    words: str
    parent: "Work | None" = None
    call: str = ""
    history: list[Json] = field(default_factory=list)
    spent: list[int] = field(default_factory=lambda: [0, 0])
    end: Json = field(default_factory=dict)


class Run:
    """What one person asked for, and everything that follows."""

    def __init__(self, number: int, clock: Clock) -> None:
        self.rng = random.Random(number)
        self.clock = clock
        self.number = number
        self.user = f"user-{number % 40}"
        self.context = f"web-session-{random.Random(number // 3).getrandbits(128):032x}"  # three prompts each
        self.is_large = number % LARGE == 7
        self.model = "anthropic/claude-opus-4-5" if self.is_large else self.rng.choice(MODELS)
        self.subject = "marmalade" if number in RARE else self.rng.choice(NOUNS)

    def hex(self) -> str:
        return f"{self.rng.getrandbits(128):032x}"

    def steps(self) -> Steps:
        work = Work(f"gdk-task-{self.hex()}", "OrchestratorAgent", f"Please write a report about the {self.subject} of shop {self.number}.")
        yield self.asked(work)
        peers = 16 if self.is_large else self.rng.choice((0, 0, 1, 1, 2, 4))
        yield from self.working(work, peers)
        if self.rng.random() < 0.05:
            yield self.judged(work)

    # -- an agent at work ----------------------------------------------------------------------------------------------

    def working(self, work: Work, peers: int) -> Steps:
        work.history.append({"role": "user", "parts": [{"text": work.words}]})
        if peers:
            yield from self.delegating(work, peers)
        for _ in range(3 if self.is_large else self.rng.choice((1, 1, 2, 3))):
            yield from self.using(work, self.rng.choice(TOOLS))
        yield from self.ending(work)

    def using(self, work: Work, tool: str) -> Steps:
        call = {"id": f"call_{self.hex()[:24]}", "name": tool, "args": {"subject": self.subject, "shop": self.number, "most": self.rng.randrange(500)}}
        yield from self.deciding(work, f"Let me look at the {self.subject}.", [call])
        failed = self.rng.random() < 0.02
        result: Json = {"status": "error", "message": f"no {self.subject} there"} if failed else {"status": "success", "data": self.found()}
        yield from self.told(work, data("tool_invocation_start", tool_name=tool, tool_args=call["args"], function_call_id=call["id"], parallel_group_id=None))
        yield from self.told(work, data("tool_result", tool_name=tool, result_data=result, function_call_id=call["id"], llm_usage=None))
        self.remember(work, call, result)

    def found(self) -> Json:
        rows = [{"name": f"{self.subject} {number}", "left": self.rng.randrange(900), "shelf": self.rng.randrange(90)} for number in range(self.rng.choice((1, 4, 12)))]
        return {"rows": rows, "note": f"{len(rows)} kinds of {self.subject} were counted"}

    def delegating(self, work: Work, peers: int) -> Steps:
        calls = [{"id": f"call_{self.hex()[:24]}", "name": f"peer_{self.rng.choice(PEERS)}", "args": {"task_description": f"Part {number} of the {self.subject}"}} for number in range(peers)]
        yield from self.deciding(work, f"The report about {self.subject} needs my peers.", calls)
        given = [Work(f"a2a_subtask_{self.hex()}", str(call["name"])[5:], f"Part {number} of the {self.subject}", work, str(call["id"])) for number, call in enumerate(calls)]
        for call, peer in zip(calls, given, strict=True):
            yield self.asked(peer)
            yield from self.told(work, data("tool_invocation_start", tool_name=call["name"], tool_args=call["args"], function_call_id=call["id"], parallel_group_id="g"))
        deeper = work.parent is None and not self.is_large and self.rng.random() < 0.2
        yield from together([self.working(peer, 1 if deeper else 0) for peer in given])
        for call, peer in zip(calls, given, strict=True):
            yield from self.told(work, data("tool_result", tool_name=call["name"], result_data=peer.end, function_call_id=call["id"], llm_usage=None))
            self.remember(work, call, {"result": f"{peer.words}: done."})

    def deciding(self, work: Work, words: str, calls: list[Json]) -> Steps:
        request = {"model": self.model, "contents": list(work.history), "config": {"system_instruction": instruction(work.agent), "tools": [{"function_declarations": DECLARED}]}}
        yield from self.told(work, data("llm_invocation", request=request, usage=None))
        if self.rng.random() < 0.2:
            yield from self.told(work, data("thinking_content", content=f"The {self.subject} may be many. ", is_complete=False))
            yield from self.told(work, data("thinking_content", content="I should count them first.", is_complete=True))
        if self.rng.random() < 0.5:
            yield from self.told(work, data("agent_progress_update", status_text=f"Looking into the {self.subject}..."))
        read, wrote = 7000 * (5 if self.is_large else 1) + 90 * len(work.history), 20 + len(words)
        work.spent = [work.spent[0] + read, work.spent[1] + wrote]
        parts: list[Json] = [{"text": words}, *({"function_call": call} for call in calls)]
        work.history.append({"role": "model", "parts": parts})
        yield from self.told(work, {"kind": "text", "text": words})
        answer = {"content": {"parts": parts, "role": "model"}, "partial": False, "usage_metadata": {"prompt_token_count": read, "candidates_token_count": wrote}}
        yield from self.told(work, data("llm_response", data=answer, usage={"input_tokens": read, "output_tokens": wrote, "model": self.model}))

    def remember(self, work: Work, call: Json, result: Json) -> None:
        response = {"id": call["id"], "name": call["name"], "response": result}
        work.history.append({"role": "user", "parts": [{"function_response": response}]})

    def ending(self, work: Work) -> Steps:
        yield from self.deciding(work, f"Here is the report about the {self.subject} that you asked for.", [])
        work.end = self.end(work, "failed" if self.rng.random() < 0.01 else "completed")
        yield self.message(self.topic(work, "response"), {"id": work.id, "jsonrpc": "2.0", "result": work.end}, {})

    # -- messages ------------------------------------------------------------------------------------------------------

    def asked(self, work: Work) -> Json:
        parent = {"parentTaskId": work.parent.id, "function_call_id": work.call, "sessionBehavior": "RUN_BASED"} if work.parent else {}
        message = {
            "contextId": self.context, "kind": "message", "messageId": self.hex(), "role": "user",
            "metadata": {"agent_name": work.agent, **parent}, "parts": [{"kind": "text", "text": work.words}],
        }  # fmt: skip
        beside = {"userId": self.user, "callDepth": 1, "delegating_agent_name": work.parent.agent} if work.parent else {"userId": self.user, "clientId": "webui-gw"}
        payload = {"id": work.id, "jsonrpc": "2.0", "method": "message/stream", "params": {"message": message}}
        return self.message(f"{ROOT}/agent/request/{work.agent}", payload, beside)

    def told(self, work: Work, part: Json) -> Steps:
        """And once more, by whoever gave the task, where it is data."""
        now = self.clock.iso()
        message = {"contextId": self.context, "kind": "message", "messageId": self.hex(), "parts": [part], "role": "agent", "taskId": work.id}
        yield self.status(work, message, {"agent_name": work.agent}, now, {"delegating_agent_name": work.agent, "clientId": "webui-gw"})
        if work.parent is not None and part["kind"] == "data":
            about = {"agent_name": work.parent.agent, "forwarded_from_peer": work.agent, "original_peer_event_taskId": work.id, "original_peer_event_timestamp": now, "function_call_id": work.call}
            yield self.status(work.parent, {"kind": "message", "messageId": self.hex(), "metadata": about, "parts": [part], "role": "agent"}, None, now, None)

    def status(self, work: Work, message: Json, metadata: Json | None, at: str, beside: Json | None) -> Json:
        result = {"contextId": self.context, "final": False, "kind": "status-update", "taskId": work.id, "status": {"message": message, "state": "working", "timestamp": at}}
        if metadata is not None:
            result["metadata"] = metadata
        return self.message(self.topic(work, "status"), {"id": work.id, "jsonrpc": "2.0", "result": result}, beside)

    def end(self, work: Work, state: str) -> Json:
        words = f"{work.words} Done." if state == "completed" else "It went wrong."
        used = {"total_input_tokens": work.spent[0], "total_output_tokens": work.spent[1], "total_tokens": sum(work.spent)}
        message = {"kind": "message", "messageId": self.hex(), "parts": [{"kind": "text", "text": words}], "role": "agent"}
        return {
            "contextId": self.context, "id": work.id, "kind": "task", "metadata": {"agent_name": work.agent, "token_usage": used},
            "status": {"message": message, "state": state, "timestamp": self.clock.iso()},
        }  # fmt: skip

    def judged(self, work: Work) -> Json:
        verdict = {"task_id": work.id, "session_id": self.context, "feedback_type": self.rng.choice(("up", "down")), "feedback_text": None, "user_id": self.user}
        return self.message("shop/mesh/sam/feedback/v1", {"feedback": verdict, "task_summary": {"task_id": work.id}}, {})

    def topic(self, work: Work, kind: str) -> str:
        return f"{ROOT}/agent/{kind}/{work.parent.agent}/{work.id}" if work.parent else f"{ROOT}/gateway/{kind}/webui-gw/{work.id}"

    def message(self, topic: str, payload: Json, beside: Json | None) -> Json:
        properties = {**({"a2aUserConfig": {"user_profile": profile(self.user)}, **beside} if beside is not None else {}), "timestamp": self.clock.now // 1000}
        return {"received_at": self.clock.iso(), "topic": topic, "user_properties": properties, "payload": payload}


def data(type: str, **fields: Any) -> Json:
    return {"kind": "data", "data": {"type": type, **fields}}


def instruction(agent: str) -> str:
    """Real ones have 28 kB; they are stored once, so that their length costs reading and nothing else."""
    return f"AGENT_ID={agent}\nYou are {agent}. " + "Answer briefly, use your tools, and ask your peers for what they know best. " * 25


DECLARED = [{"name": name, "description": f"The tool {name.replace('_', ' ')}."} for name in (*TOOLS, *(f"peer_{peer}" for peer in PEERS))]


def profile(user: str) -> Json:
    return {"id": user, "name": user, "user_info": {"id": user, "email": f"{user}@example.com", "authenticated": True}}


def together(parts: list[Steps]) -> Steps:
    return (step for steps in zip_longest(*parts) for step in steps if step is not None)


def card(agent: str, clock: Clock) -> Json:
    skills = [{"id": name, "name": name, "description": f"The tool {name.replace('_', ' ')}."} for name in TOOLS]
    payload = {"name": agent, "url": f"solace:{agent}", "version": "1.0.0", "description": f"{agent} of the shop", "skills": skills}
    return {"received_at": clock.iso(), "topic": f"{ROOT}/discovery/agentcards", "user_properties": {"timestamp": clock.now // 1000}, "payload": payload}


def messages() -> Iterator[tuple[Json, bool]]:
    """Without an end, each with whether it is a card; the first ten thousand are the same however many are taken."""
    rng, clock = random.Random(1), Clock()
    numbers = count()
    running = [Run(next(numbers), clock).steps() for _ in range(AT_ONCE)]
    for number in count():
        clock.now = START + number * STEP
        at = rng.randrange(AT_ONCE)
        step = next(running[at], None)
        if step is None:
            running[at] = Run(next(numbers), clock).steps()
            step = next(running[at])
        yield step, False
        if number % CARDS == 0:
            yield card(rng.choice(PEERS), clock), True


def lines(most: int) -> Iterator[bytes]:
    """So many of tasks. Cards, which say the same again and again and are stored once, come on top."""
    told = 0
    for message, is_card in messages():
        told += not is_card
        if told > most:
            return
        yield encode(message)
