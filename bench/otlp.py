"""How fast spans are taken: ten thousand nested spans of one trace, until all of them can be asked for.

    python -m bench.otlp

The server runs as `ramify serve` does. Spans come as exporters send them, those that end first before their parents; between
requests the tree is asked for, and must hold no orphan. A second figure is the server's own time, for a machine that does
other things as well.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from rich.console import Console
from rich.table import Table

from bench.latency import title, wait_for
from bench.ports import free_port
from bench.traffic import prose

SPANS = 10_000
BATCH = 512
START = 1_790_000_000_000_000_000
Span = dict[str, Any]
WAYS: tuple[tuple[str, str, int], ...] = (
    ("JSON, batches of 512", "json", BATCH), ("protobuf, batches of 512", "protobuf", BATCH), ("JSON, one request", "json", SPANS),
)  # fmt: skip


def trace(id: str, count: int = SPANS) -> list[Span]:
    """Agents inside tools inside agents, each with calls of its own; about 2.3 kB a span."""
    source = random.Random(7)
    spans: list[Span] = []
    open_agents: list[str] = []
    while len(spans) < count:
        above = source.choice(open_agents[-12:]) if open_agents else ""
        if above:
            above = add(spans, id, above, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delegate"}, source)
        agent = add(spans, id, above, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"agent {len(open_agents) % 12}"}, source)
        open_agents.append(agent)
        for _ in range(4):
            add(spans, id, agent, call(source), source)
            add(spans, id, agent, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}, source)
    found = spans[:count]
    return sorted(found, key=lambda one: int(one["endTimeUnixNano"]))


def call(source: random.Random) -> dict[str, Any]:
    asked = [{"role": "user", "parts": [{"type": "text", "content": prose(source, 900)}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": prose(source, 600)}]}]
    return {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-opus-5-5", "gen_ai.usage.input_tokens": 1200,
        "gen_ai.usage.output_tokens": 90, "gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(answer),
    }  # fmt: skip


def add(spans: list[Span], trace_id: str, parent: str, attributes: dict[str, Any], source: random.Random) -> str:
    number = len(spans) + 1
    id = f"{number:016x}"
    around = attributes["gen_ai.operation.name"] == "invoke_agent" or attributes.get("gen_ai.tool.name") == "delegate"
    if attributes["gen_ai.operation.name"] == "execute_tool":
        told = {"q": prose(source, 700)}
        attributes |= {"gen_ai.tool.call.id": f"call_{number}", "gen_ai.tool.call.arguments": json.dumps(told)}
    attributes |= {"service.instance.id": "bench", "thread.name": "worker", "code.function": "run"}
    # Those that hold others end in the opposite order.
    end = START + (2 * SPANS - number if around else number) * 1_000_000
    spans.append(
        {
            "traceId": trace_id, "spanId": id, "parentSpanId": parent, "name": attributes["gen_ai.operation.name"], "kind": 1,
            "startTimeUnixNano": str(START + number * 900_000), "endTimeUnixNano": str(end), "flags": 257,
            "attributes": [{"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
                           for key, value in attributes.items()],
        }
    )  # fmt: skip
    return id


def as_json(spans: list[Span]) -> bytes:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "bench"}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "bench"}, "spans": spans}]}]}).encode()


def as_protobuf(spans: list[Span]) -> bytes:
    request = ExportTraceServiceRequest()
    scoped = request.resource_spans.add().scope_spans.add()
    for one in spans:
        span = scoped.spans.add()
        span.trace_id, span.span_id, span.parent_span_id = (bytes.fromhex(one[name]) for name in ("traceId", "spanId", "parentSpanId"))
        span.name, span.kind, span.flags = one["name"], one["kind"], one["flags"]
        span.start_time_unix_nano, span.end_time_unix_nano = int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])
        for pair in one["attributes"]:
            attribute = span.attributes.add()
            attribute.key = pair["key"]
            if "intValue" in pair["value"]:
                attribute.value.int_value = int(pair["value"]["intValue"])
            else:
                attribute.value.string_value = pair["value"]["stringValue"]
    return request.SerializeToString()


PACK: dict[str, tuple[str, Callable[[list[Span]], bytes]]] = {
    "json": ("application/json", as_json), "protobuf": ("application/x-protobuf", as_protobuf),
}  # fmt: skip


def send(url: str, body: bytes, type: str) -> None:
    request = urllib.request.Request(f"{url}/v1/traces", body, {"content-type": type}, method="POST")
    with urllib.request.urlopen(request, timeout=120) as response:
        if response.status != 200:
            raise RuntimeError(response.read())


def ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}/api/{path}", timeout=120) as response:
        return json.load(response)


def orphans(url: str, id: str) -> int:
    """Tasks of the trace's tree that nothing leads to."""
    tree = ask(url, f"tasks/otel:trace:{id}/tree?shape=skeleton")
    return len((tree.get("unattached") or {}).get("id", ()))


def busy_seconds(server: int) -> float:
    """What the server and its writer have used of the processors."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if server in (int(stat.parent.name), int(fields[1])):
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Figures(NamedTuple):
    seconds: float  # until all are stored
    busy: float  # of these, by the server's processes together
    megabytes: float
    lost: int  # orphans on any paint
    opened: float  # seconds until the tree is there


def measure(url: str, server: int, number: int, encoding: str, size: int) -> Figures:
    id = f"{number + 1:032x}"
    spans = trace(id)
    type, pack = PACK[encoding]
    bodies = [pack(spans[start : start + size]) for start in range(0, len(spans), size)]
    seconds, busy, lost = 0.0, 0.0, 0
    for body in bodies:
        before, began = busy_seconds(server), time.perf_counter()  # in this order: looking takes time, too
        send(url, body, type)
        seconds, busy = seconds + time.perf_counter() - began, busy + busy_seconds(server) - before
        lost += orphans(url, id)
    began = time.perf_counter()
    tree = ask(url, f"tasks/otel:trace:{id}/tree?shape=skeleton")
    opened = time.perf_counter() - began
    shown = ask(url, f"tasks/otel:trace:{id}")
    if shown["tree_usage"]["calls"] != sum(one["name"] == "chat" for one in spans) or not tree:
        raise RuntimeError(f"calls are missing: {shown['tree_usage']}")
    return Figures(seconds, busy, sum(map(len, bodies)) / 1e6, lost, opened)


def main() -> None:
    columns = ("how", "MB", "seconds", "spans a second", "of the server's own time", "orphans on any paint", "tree opens in, s")
    table = Table(*columns, title=title().replace("milliseconds; ", ""))
    for number, (name, encoding, size) in enumerate(WAYS):
        with serving() as (url, pid):
            one = measure(url, pid, number, encoding, size)
        rates = f"{SPANS / one.seconds:,.0f}", f"{SPANS / one.busy:,.0f}"
        table.add_row(name, f"{one.megabytes:.1f}", f"{one.seconds:.2f}", *rates, str(one.lost), f"{one.opened:.2f}")
    Console(width=120).print(table)


@contextlib.contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A server on a store of its own: what one way leaves to be indexed is no part of the next."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ramify-bench-") as folder:
        child = subprocess.Popen([sys.executable, "-m", "ramify", "serve", "--port", str(port), "--store", f"sqlite:{folder}/bench.db"])
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}", child.pid
        finally:
            child.terminate()
            child.wait(60)


if __name__ == "__main__":
    main()
