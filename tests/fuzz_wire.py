"""What else reads bytes of strangers: protobuf, packed bodies, streams in pieces, cards, signatures, SQL, and files of our own that were damaged."""

import contextlib
import gzip
import json
import resource
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from google.protobuf import json_format
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ramify.app import Ramify
from ramify.capture.a2a.cards import rewrite
from ramify.capture.a2a.slices import Slices
from ramify.capture.log_file import HEADER, write_line
from ramify.model.mistake import UserMistake
from ramify.protocols.adcp.message_signature import BadSignature, Push, check, is_signed
from ramify.protocols.adcp.signature import has_token, refusal
from ramify.protocols.otel.request import read_protobuf
from ramify.protocols.wire.coding import decode
from ramify.query.direct import sql
from ramify.spool import Spool
from ramify.storage.base import Bounds
from tests.damage import damaged, file_of, recorded
from tests.story import exchanges

SQL_WORDS = (
    "SELECT", "*", "FROM", "ramify_tasks", "ramify_calls", "WHERE", "id", "=", "'x'", "UNION", "(", ")", ",", ";", "--", "/*", "*/", "WITH", "RECURSIVE", "t AS",
    "1", "count(*)", "JOIN", "ON", "ORDER BY", "LIMIT 5", "observations", "facts", "sqlite_master", "PRAGMA user_version", "ATTACH 'x' AS y", "INSERT INTO facts VALUES (1, 2)",
    "DELETE FROM calls", "DROP VIEW ramify_tasks", "randomblob(1000000000)", "load_extension('x')", "readfile('/etc/passwd')", "printf('%.*c', 100000000, 'x')", "\x00", "é",
    "BEGIN", "COMMIT", "VACUUM", "EXPLAIN", "CREATE TABLE a (b)", "zeroblob(999999999)", "group_concat(id)", "x'00'", '"id"', "||", "LIKE '%a%'", "GLOB '***'",
)  # fmt: skip
BOUNDS = Bounds(rows=100, seconds=2.0, bytes=2**20)


def resident() -> float:
    """The most memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@cache
def packed_traces() -> list[bytes]:
    found = []
    for lines in recorded("**/otlp.jsonl"):
        for line in lines:
            with contextlib.suppress(ValueError, json_format.ParseError):
                found.append(json_format.ParseDict(json.loads(line), ExportTraceServiceRequest(), ignore_unknown_fields=True).SerializeToString())
    assert found
    return [one for one in found if 0 < len(one) < 50_000]


def cut_up(raw: bytes, data: st.DataObject) -> bytes:
    """Damage that knows nothing of what the bytes are."""
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(raw)))
        raw = raw[:at] + data.draw(st.binary(max_size=6)) + raw[at + data.draw(st.integers(0, 12)) :]
    return raw


def read_any_protobuf(data: st.DataObject) -> None:
    raw = cut_up(data.draw(st.sampled_from(packed_traces())), data) if data.draw(st.integers(0, 3)) else data.draw(st.binary(max_size=200))
    for signal in ("traces", "logs"):
        with contextlib.suppress(ValueError):  # which is answered with 400
            export = read_protobuf(raw, signal, "default", "/v1/x")  # type: ignore[arg-type]
            ramify = Ramify.open("memory:")
            try:
                ramify.ingest.take(export.records)
                assert (ramify.ingest.unlinked, ramify.ingest.lost) == (0, 0), raw
            finally:
                ramify.close()


def unpack_any_body(data: st.DataObject) -> None:
    raw = cut_up(gzip.compress(data.draw(st.binary(max_size=300)) * data.draw(st.integers(1, 50))), data)
    codings = data.draw(st.lists(st.sampled_from(["gzip", "br", "zstd", "deflate", "identity", "x"]), max_size=4))
    found = decode(raw, codings)
    assert found is None or isinstance(found, bytes)


def slice_any_stream(data: st.DataObject) -> None:
    """However it is cut on its way, nothing of it is lost, and no slice ends inside an event that would fit."""
    pieces = data.draw(st.lists(st.sampled_from([b"data: x", b"\n", b"\r\n", b"\n\n", b": ping", b"\r\r", b"id: 1"]) | st.binary(max_size=5), max_size=40))
    slices = Slices(data.draw(st.sampled_from([10, 1000])))
    got = [slices.add(piece) for piece in pieces]
    assert b"".join([*got, slices.rest()]) == b"".join(pieces)


def rewrite_any_card(data: st.DataObject) -> None:
    card = {"name": "a", "url": "http://agent:1/x", "additionalInterfaces": [{"url": "http://agent:1/y", "transport": "JSONRPC"}],
            "supportedInterfaces": [{"url": "http://other/", "protocolBinding": "HTTP+JSON"}], "securitySchemes": {"k": {"type": "apiKey", "name": "x-key"}}}  # fmt: skip
    assert isinstance(rewrite(damaged(json.dumps(card).encode(), data), "http://agent:1", "http://127.0.0.1:8377/a2a/a").body, bytes)


SIGNED = ["sig1=", "(", ")", '"@method"', '"@target-uri"', '"content-digest"', ";created=1790000000", ";expires=1790000060", ';keyid="k"', ';alg="ed25519"',
          ';nonce="n"', ';tag="adcp/webhook-signing/v1"', ":AAAA:", "sha-256=:AAAA:", ",", " ", ";", "=", '"', "\\", "\x00", "é"]  # fmt: skip


def check_any_signature(data: st.DataObject) -> None:
    def header() -> str:
        return "".join(data.draw(st.lists(st.sampled_from(SIGNED) | st.text(max_size=3), max_size=25)))

    names = ("signature", "signature-input", "content-digest", "x-adcp-signature", "x-adcp-timestamp", "authorization", "x-a2a-notification-token")
    headers = {name: header() for name in names if data.draw(st.booleans())}
    raw = data.draw(st.binary(max_size=20))
    assert refusal(headers, raw, "secret", 1_790_000_000.0)  # nobody can guess it
    assert not has_token(headers, ("a-token-that-nobody-has",))
    if is_signed(headers):
        with contextlib.suppress(BadSignature):
            check(Push("http://127.0.0.1/x", headers, raw), {}, lambda key, signature, message: False, 1_790_000_000.0)
            raise AssertionError("believed without a key")


@cache
def filled() -> Ramify:
    ramify = Ramify.open("memory:")
    ramify.ingest.step([one for pair in exchanges("anthropic", "subtask-three-parallel") for one in pair])
    return ramify


def ask_any_sql(data: st.DataObject) -> None:
    query = " ".join(data.draw(st.lists(st.sampled_from(SQL_WORDS) | st.text(max_size=3), min_size=1, max_size=14)))
    store = filled().store
    before = (store.seq(), store.count("calls"))
    with contextlib.suppress(UserMistake):  # which says what was wrong
        found = sql(store, query, BOUNDS)
        assert len(found["rows"]) <= BOUNDS.rows
    assert (store.seq(), store.count("calls")) == before
    assert store.fact("secret") is None or "secret" not in query


@cache
def own_log() -> list[list[bytes]]:
    return [[HEADER.strip(), *(write_line(seen).strip() for _, seen in filled().store.observations())]]


def import_own_log(data: st.DataObject) -> None:
    raw = file_of(own_log(), data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(raw if raw.startswith(HEADER.strip()) else HEADER + raw)
        ramify = Ramify.open("memory:")
        try:
            with contextlib.suppress(UserMistake):
                ramify.import_paths([path], "ramify", lambda done, total: None)
            assert (ramify.ingest.unlinked, ramify.ingest.lost) == (0, 0), raw
        finally:
            ramify.close()


def open_any_spool(data: st.DataObject) -> None:
    """Segments and positions that a crash or a bad disk has damaged: what is whole comes back, what is not is stepped over."""
    seen = [one for pair in exchanges("anthropic", "linear") for one in pair][:3]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Spool(folder, 2**20).append(seen)
        for path in sorted(folder.iterdir()):
            if data.draw(st.booleans()):
                path.write_bytes(cut_up(path.read_bytes(), data))
        spool = Spool(folder, 2**20)
        found = spool.read(10)
        assert all(one in seen for one in found)
        spool.append(seen)
        assert spool.read(10)


WIRE: dict[str, Callable[[st.DataObject], None]] = {
    "otlp-protobuf": read_any_protobuf,
    "packed": unpack_any_body,
    "slices": slice_any_stream,
    "card": rewrite_any_card,
    "signature": check_any_signature,
    "sql": ask_any_sql,
    "ramify-log": import_own_log,
    "spool": open_any_spool,
}
