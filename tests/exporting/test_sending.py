"""Spans on their way to an endpoint that is real HTTP: packed, tried again, refused, rejected in part."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from ramify.exporting.sending import Away, Endpoint, headers_of, rejected, traces_url
from ramify.exporting.span import Span
from ramify.exporting.wish import Wish
from ramify.model.mistake import UserMistake
from tests.exporting.world import conversations, quiet, told

SPANS = [Span(b"1" * 16, b"2" * 8, b"", "invoke_agent", 1, 1, 2, {"a": "b"})]


class Receiver(ThreadingHTTPServer):
    """A collector: it reads with the real classes, and answers what it was told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiving)
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[ExportTraceServiceRequest] = []
        self.heads: list[dict[str, str]] = []
        self.paths: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def spans(self) -> list[str]:
        return [span.name for one in self.requests for group in one.resource_spans for scope in group.scope_spans for span in scope.spans]


class Receiving(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        self.server.heads.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        status, headers, body = self.server.answers.pop(0) if self.server.answers else (200, {"content-type": "application/x-protobuf"}, b"")
        if status == 200:
            self.server.requests.append(ExportTraceServiceRequest.FromString(gzip.decompress(raw)))
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_tree_arrives_whole() -> None:
    ramify = told("claude/nested")
    (id,) = conversations(ramify)
    with receiving() as server:
        answer = ramify.exports.send(id, Wish("otlp"), server.address, quiet)
        assert (answer["spans"], answer["rejected"]) == (12, 0)
        assert sorted(server.spans) == sorted(["invoke_agent", *["invoke_agent general-purpose"] * 2, *["chat claude-opus-5-5"] * 6, *["execute_tool Agent"] * 2, "execute_tool Bash"])
        assert server.paths == ["/v1/traces"]


def test_what_may_help_is_tried_again() -> None:
    with receiving() as server:
        server.answers = [(503, {"retry-after": "0"}, b""), (429, {}, b"")]
        assert Endpoint(server.address, {}).deliver(SPANS) == (0, "")
        assert len(server.heads) == 3
        assert server.spans == ["invoke_agent"]


def test_what_is_refused_is_said_and_not_tried_again() -> None:
    with receiving() as server:
        server.answers = [(401, {}, b"who are\x00 you?")]
        with pytest.raises(UserMistake, match=r"answered 401 Unauthorized: who are you\?"):
            Endpoint(server.address, {}).deliver(SPANS)
        server.answers = [(302, {"location": server.address}, b"")]
        with pytest.raises(UserMistake, match="answered 302"):
            Endpoint(server.address, {}).deliver(SPANS)
        assert len(server.heads) == 2


def test_what_was_rejected_in_part_is_said() -> None:
    partial = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=300, error_message="too old"))
    assert rejected(partial.SerializeToString()) == (300, "too old")
    assert rejected(b"") == (0, "")
    assert rejected(b"\xff\xff\xff") == (0, "")
    with receiving() as server:
        server.answers = [(200, {"content-type": "application/x-protobuf"}, partial.SerializeToString())]
        assert Endpoint(server.address, {}).send(SPANS) == (300, "too old")


def test_nobody_there_is_said() -> None:
    with receiving() as server:
        address = server.address
    with pytest.raises(Away, match="cannot be reached"):
        Endpoint(address, {}).send(SPANS)


def test_addresses_and_keys_are_read_as_every_exporter_reads_them() -> None:
    assert traces_url("http://h:4318") == "http://h:4318/v1/traces"
    assert traces_url("https://h/api/public/otel/") == "https://h/api/public/otel/v1/traces"
    assert traces_url("https://h/v1/traces") == "https://h/v1/traces"
    for wrong in ("h:4318", "ftp://h", "http://user:key@h", "http://"):
        with pytest.raises(UserMistake, match="no address of an OTLP endpoint"):
            traces_url(wrong)
    assert headers_of({"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20abc=,x-key=1"}) == {"authorization": "Basic abc=", "x-key": "1"}
    with receiving() as server:
        Endpoint(server.address, {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=1"}).send(SPANS)
        assert server.heads[0]["x-key"] == "1"
        assert server.heads[0]["content-encoding"] == "gzip"
