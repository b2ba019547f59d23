"""Traces for tests, written as a person would draw them: an indented line each."""

import json
import random
from typing import Any

from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.protocols.otel.request import read_json
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite

Span = dict[str, Any]
TRACE = "0af7651916cd43dd8448eb211c80319c"
BEGIN = 1_790_000_000_000_000_000
INTERNAL, SERVER, CLIENT = 1, 2, 3


def value(given: Any) -> dict[str, Any]:
    match given:
        case bool():
            return {"boolValue": given}
        case int():
            return {"intValue": str(given)}
        case float():
            return {"doubleValue": given}
        case list():
            return {"arrayValue": {"values": [value(one) for one in given]}}
        case None:
            return {}
        case _:
            return {"stringValue": given if isinstance(given, str) else json.dumps(given)}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value(one)} for name, one in attributes.items()]


def id_of(name: str) -> str:
    return name.encode().hex().rjust(16, "0")[-16:]


def span(name: str, parent: str = "", start: int = 0, end: int = 100, **more: Any) -> Span:
    """`name` is also its id, as far as eight characters go. Times in milliseconds."""
    attributes = more.pop("attributes", {})
    found: Span = {
        "traceId": more.pop("trace", TRACE), "spanId": id_of(more.pop("id", name)), "name": name, "kind": more.pop("kind", INTERNAL),
        "startTimeUnixNano": str(BEGIN + start * 1_000_000), "endTimeUnixNano": str(BEGIN + end * 1_000_000),
        "attributes": pairs(attributes), "status": {"code": more.pop("code", 0)}, "flags": more.pop("flags", 257),
    }  # fmt: skip
    if parent:
        found["parentSpanId"] = id_of(parent)
    return {**found, **more}


def agent(name: str, parent: str = "", **more: Any) -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more.pop("attributes", {})}
    return span(name, parent, attributes=attributes, **more)


def chat(name: str, parent: str = "", tokens: tuple[int, int] | None = (10, 5), **more: Any) -> Span:
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "some-model"}
    if tokens:
        attributes |= {"gen_ai.usage.input_tokens": tokens[0], "gen_ai.usage.output_tokens": tokens[1]}
    return span(name, parent, attributes={**attributes, **more.pop("attributes", {})}, **more)


def tool(name: str, parent: str = "", called: str = "", **more: Any) -> Span:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": called or name, **more.pop("attributes", {})}
    return span(name, parent, attributes=attributes, **more)


def document(spans: list[Span], service: str = "app", scope: str = "test") -> dict[str, Any]:
    resource = {"attributes": pairs({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": scope}, "spans": spans}]}]}


def records(spans: list[Span], **more: Any) -> list[Observation]:
    return list(read_json(json.dumps(document(spans, **more)).encode(), "default", "test").records)


class Told:
    """A store, and what was told to it, request by request."""

    def __init__(self) -> None:
        self.store: Sqlite = open_sqlite("memory:")
        self.ingest = Ingest(self.store)
        self.questions = Questions(self.store)

    def send(self, *spans: Span, **more: Any) -> "Told":
        self.ingest.step(records(list(spans), **more))
        return self

    def observe(self, *seen: Observation) -> "Told":
        self.ingest.step(list(seen))
        return self

    def tree(self, id: str = f"otel:trace:{TRACE}") -> dict[str, Any]:
        return self.questions.tree(id)

    def drawn(self, id: str = f"otel:trace:{TRACE}") -> list[str]:
        return draw(self.tree(id))


def draw(tree: dict[str, Any], depth: int = 0) -> list[str]:
    link = tree["link"] or {"rule": "-"}
    usage = tree["usage"]
    line = f"{'  ' * depth}{tree['agent'] or tree['title']} {link['rule']} calls={usage['calls']} in={usage['input']} out={usage['output']} tools={tree['tool_calls']} {tree['status']}"
    return [line, *(text for child in tree["children"] for text in draw(child, depth + 1))]


def told(*spans: Span, **more: Any) -> Told:
    return Told().send(*spans, **more)


def one_by_one(spans: list[Span], seed: int | None = None) -> Told:
    order = list(spans)
    if seed is not None:
        random.Random(seed).shuffle(order)
    world = Told()
    for each in order:
        world.send(each)
    return world
