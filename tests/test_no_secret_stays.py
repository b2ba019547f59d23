"""The whole way, with a real server: secrets in by every door, then a search through every file, every answer and the log."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import zip_longest
from pathlib import Path

import aiohttp
import zstandard
from aiohttp import web
from yarl import URL

from bench.soaked import Server, locked
from ramify.demo.upstream import serving
from ramify.demo.wire import Json, Reply, text, tool
from tests.capture.secret_formats import FORMATS, WINDOW, Planted, planted, windows
from tests.capture.world import talk

PLANTED = [planted(name, 7) for name in FORMATS]
QUESTIONS = ("tasks", "calls", "conversations", "events", "operations", "stats", "lint", "health", "search?q=before")
PARTS = {part: each.name for each in PLANTED for part in windows(each)}
LONG = {part: name for part, name in PARTS.items() if len(part) == WINDOW}
SHORT = {part: name for part, name in PARTS.items() if len(part) != WINDOW}
ZSTD = b"\x28\xb5\x2f\xfd"


def several(part: int, of: int) -> str:
    """A share of the corpus as one text, each in a line of its own."""
    return "\n".join(f"before {each.text} after" for each in PLANTED[part::of])


def model(body: Json) -> Reply:
    """Answers with secrets, streamed in small pieces, in words and in a tool's input."""
    return Reply(content=(text(several(0, 3)), tool("Bash", {"command": several(1, 3)}, "toolu_1")))


async def answer_in_pieces(request: web.Request) -> web.StreamResponse:
    """An agent that makes an artifact and says what it does, a few letters at a time."""
    answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await answer.prepare(request)
    ids = {"taskId": "task-1", "contextId": "context-1"}
    await answer.write(event_of({"kind": "task", "id": "task-1", "contextId": "context-1", "status": {"state": "working"}}))
    for at, (made, told) in enumerate(zip_longest(in_pieces(several(0, 2), 23), in_pieces(several(1, 2), 29), fillvalue="")):
        artifact = {"artifactId": "a1", "parts": [{"kind": "text", "text": made}]}
        status = {"state": "working", "message": {"kind": "message", "role": "agent", "messageId": f"m{at}", "parts": [{"kind": "text", "text": told}]}}
        await answer.write(event_of({"kind": "artifact-update", **ids, "artifact": artifact, "append": at > 0}))
        await answer.write(event_of({"kind": "status-update", **ids, "status": status, "final": False}))
    await answer.write(event_of({"kind": "status-update", **ids, "status": {"state": "completed"}, "final": True}))
    return answer


async def think_in_pieces(request: web.Request) -> web.StreamResponse:
    """A model that says nothing and thinks aloud beside it."""
    answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await answer.prepare(request)
    for piece in in_pieces(several(0, 2), 17):
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": {"content": "", "reasoning": piece}}]}
        await answer.write(f"data: {json.dumps(chunk)}\n\n".encode())
    await answer.write(b"data: [DONE]\n\n")
    return answer


def event_of(result: Json) -> bytes:
    return f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': result})}\n\n".encode()


def in_pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@asynccontextmanager
async def agent() -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_post("/", answer_in_pieces)
    application.router.add_post("/v1/chat/completions", think_in_pieces)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def header_lines() -> dict[str, str]:
    return {f"x-note-{at}": each.text.replace("\n", " ") for at, each in enumerate(PLANTED[::10])}


def named() -> str:
    """Values that look like nothing: only what stands around them tells."""
    first, second, third = (planted(name, 7).secrets[0] for name in ("wandb", "datadog", "twilio"))
    form = f'--b\r\nContent-Disposition: form-data; name="api_key"\r\n\r\n{third}\r\n--b--'
    return json.dumps({"env": [{"name": "API_KEY", "value": first}], "api_keys": [second, first], "secret": {"value": third}, "form": form})


def escaped(value: Json) -> bytes:
    """JSON as nobody has to write it but anybody may: what is neither a letter nor a digit by its number, and `\\/`."""
    return re.sub(r"(?<=[A-Za-z0-9])[-_.]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value)).replace("/", "\\/").encode()


async def send_all(address: str) -> None:
    history = [
        {"role": "user", "content": several(2, 3)},
        {"role": "assistant", "content": [tool("Read", {"path": several(0, 5)}, "toolu_0")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "content": f"{several(1, 5)}\n{named()}"}]},
    ]
    body = {"model": "claude-demo", "max_tokens": 9, "stream": True, "system": several(3, 5), "messages": history}
    event = {"eventId": "e1", "type": "task", "operation_id": "op1", "agent_id": "a1", "payload": {"note": several(4, 5)}}
    key = {"x-api-key": PLANTED[0].secrets[0], "x-acme-key": PLANTED[4].secrets[0], "authentication": PLANTED[5].secrets[0], "dpop": PLANTED[6].secrets[0], "cookie": f"session={PLANTED[1].secrets[0]}"}
    async with aiohttp.ClientSession() as http:
        for sent in ({"path": "/v1/messages", "json": body}, {"path": "/openai/v1/chat/completions", "json": {"model": "m", "messages": history[:1]}}):
            async with http.post(address + str(sent["path"]), json=sent["json"], headers={**header_lines(), **key}) as answer:
                await answer.read()
        written = escaped({"model": "claude-demo", "max_tokens": 9, "messages": [{"role": "user", "content": several(2, 4)}]})
        async with http.post(f"{address}/v1/messages", data=written, headers={"content-type": "application/json"}) as answer:
            await answer.read()
        async with http.get(f"{address}/v1/files", params={"access_token": PLANTED[2].secrets[0], "q": PLANTED[3].text}) as answer:
            await answer.read()
        asked = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "go"}]}}}
        async with http.post(f"{address}/a2a/pieces/", json=asked) as answer:
            await answer.read()
        coded = PLANTED[0].secrets[0].replace("-", "%2D")
        async with http.get(URL(f"{address}/v1/files/{coded}?q={coded}", encoded=True)) as answer:
            await answer.read()
        async with http.post(f"{address}/api/events", json=[event]) as answer:
            await answer.read()
        async with http.post(f"{address}/webhook/sync/a1/op1", json={"status": "completed", "result": several(0, 4)}) as answer:
            await answer.read()


def values(path: Path) -> Iterator[bytes]:
    """Everything in the tables of a file, unpacked: what is compressed cannot be seen in the bytes of the file."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in connection.execute(f'SELECT * FROM "{table}"'):
            for value in row:
                raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
                if isinstance(raw, bytes):
                    yield zstandard.ZstdDecompressor().decompressobj().decompress(raw) if raw.startswith(ZSTD) else raw
    connection.close()


def tables(folder: Path) -> bytes:
    databases = [path for path in sorted(folder.glob("*.db*")) if path.is_file() and path.read_bytes()[:6] == b"SQLite"]
    assert databases
    return b"\n".join(value for path in databases for value in values(path))


def files(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def found_in(text: bytes) -> list[str]:
    """In one walk over the text: there are thousands of parts to look for."""
    plain = text.replace(b"\\\\n", b"\n").replace(b"\\n", b"\n")
    found = {LONG[part] for given in (text, plain) for at in range(len(given)) if (part := given[at : at + WINDOW]) in LONG}
    return sorted(found | {name for part, name in SHORT.items() if part in text or part in plain})


def made_by_agent(said: bytes) -> bytes:
    """The texts of artifacts among the answers, put together as readers do it."""
    answered = [json.loads(line) for line in said.split(b"\n") if b'"artifactId"' in line]
    parts = [part for answer in answered for artifact in answer.get("items", ()) for part in artifact.get("parts", ())]
    return "".join(part.get("text", "") for part in parts).encode()


async def answers(server: Server) -> bytes:
    calls = await server.ask("calls") or {"items": []}
    asked = [*QUESTIONS, *(f"calls/{call['id']}/{side}" for call in calls["items"] for side in ("request", "response"))]
    tasks = await server.ask("tasks") or {"items": []}
    asked += [f"tasks/{task['id']}/{what}" for task in tasks["items"] for what in ("tree", "messages", "tools", "flow", "artifacts")]
    async with aiohttp.ClientSession() as http:
        return b"\n".join([await (await http.get(f"{server.address}/api/{question}")).read() for question in asked])


async def indexed(server: Server) -> None:
    """The index fills itself behind the writer, and rests for seconds where the store was locked."""
    for _ in range(150):
        if ((await server.ask("search?q=before")) or {"items": []})["items"]:
            return
        await asyncio.sleep(0.2)


def told_by(server: Server, *words: str) -> bytes:
    ran = subprocess.run([sys.executable, "-m", "ramify", *words, "--store", server.store], capture_output=True, timeout=120)
    return ran.stdout + ran.stderr


async def test_no_secret_stays_in_the_store_the_spool_the_log_or_an_answer(tmp_path: Path) -> None:
    async with serving(model) as upstream, agent() as cutting:
        server = Server(tmp_path, upstream.url, "--openai-upstream", cutting, "--a2a", f"pieces={cutting}")
        await server.start()
        with locked(server.path):  # so that the spool has to take it
            await send_all(server.address)
            await server.until(lambda health: health["capture"]["spooled"])
            assert found_in(files(tmp_path)) == []
        await server.until(lambda health: not health["capture"]["spooled"])
        await send_all(server.address)
        await server.until(lambda health: health["capture"]["stored"] >= 12)
        await talk(server.port, b"GET /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: " + PLANTED[0].secrets[0].encode() + b"\x00\r\n\r\n")
        said = await answers(server)
        task = ((await server.ask("calls")) or {})["items"][0]["task"]
        await indexed(server)
        running = files(tmp_path)
        server.end(signal.SIGTERM)
    assert len(upstream.requests) >= 4
    assert upstream.requests[0].header("x-api-key") == PLANTED[0].secrets[0]
    assert b"[redacted:" in said
    assert found_in(said) == []
    assert b'"reasoning":"before [redacted' in said.replace(b'\\"', b'"').replace(b": ", b":")
    assert b"[redacted:" in made_by_agent(said)
    assert found_in(made_by_agent(said)) == []
    assert b"refused what is no HTTP" in (tmp_path / "server.log").read_bytes()
    assert found_in(running) == []
    assert found_in(tables(tmp_path)) == []
    for to in ("markdown", "jsonl"):
        exported = await asyncio.to_thread(told_by, server, "export", task, "-", "--to", to)
        assert b"redacted" in exported
        assert found_in(exported) == []
    shown = await asyncio.to_thread(told_by, server, "search", "before")
    assert b"redacted" in shown
    assert found_in(shown) == []


def test_the_search_would_find_one(tmp_path: Path) -> None:
    one: Planted = PLANTED[5]
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (v)")
    connection.execute("INSERT INTO t VALUES (?)", (zstandard.compress(one.text.encode() * 9),))
    connection.commit()
    connection.close()
    assert found_in(b"".join(values(tmp_path / "a.db"))) == [one.name]
