"""What a client, an agent and the log notice of the proxy between them."""

import asyncio
import gzip
import json
from itertools import pairwise

import pytest

from ramify.capture.a2a.frame import frame_id
from ramify.model.observation import Observation
from tests.capture.a2a.world import LAST, STREAM, asked, chunk, frames, frames_until, records, unchunked, watched, whole
from tests.capture.world import Echo, Seen, bytes_server, read_head, talk, until

SEND = b'{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m1"}}}'


async def test_a_request_arrives_at_the_agent_as_it_was_sent_without_our_prefix_and_headers() -> None:
    echo, seen = Echo(whole(b"{}"), body=2), Seen()
    async with bytes_server(echo) as agent, watched({"planner": agent}, seen) as front:
        await talk(
            front.port,
            b"PATCH /a2a/planner/odd//path/../x%2Fy:send?b=%20+&a=%C3%A4&a HTTP/1.1\r\nhost: here\r\nX-UPPER: 1\r\n"
            b"A2A-Version: 1.0\r\nX-A2A-Extensions: e\r\ntraceparent: 00-aa-bb-01\r\ntracestate: x=1\r\n"
            b"Authorization: Bearer abc\r\nAccept-Encoding: gzip\r\nX-Ramify-Project: p\r\nConnection: close\r\n"
            b"Content-Length: 2\r\n\r\n{}",
        )
        await frames_until(seen, "response")
    port = agent.rpartition(":")[2].encode()
    assert echo.heads == [
        b"PATCH /odd//path/../x%2Fy:send?b=%20+&a=%C3%A4&a HTTP/1.1\r\nhost: 127.0.0.1:" + port + b"\r\nX-UPPER: 1\r\n"
        b"A2A-Version: 1.0\r\nX-A2A-Extensions: e\r\ntraceparent: 00-aa-bb-01\r\ntracestate: x=1\r\n"
        b"Authorization: Bearer abc\r\nContent-Length: 2\r\n\r\n"
    ]
    assert {record.project for record in records(seen)} == {"p"}


@pytest.mark.parametrize(
    ("base", "path", "arrives"),
    [
        ("", "/a2a/planner", "/"),
        ("", "/a2a/planner/", "/"),
        ("", "/a2a/planner?a=1", "/?a=1"),
        ("/", "/a2a/planner/x/", "/x/"),
        ("/rpc", "/a2a/planner", "/rpc"),
        ("/rpc", "/a2a/planner/", "/rpc/"),
        ("/rpc", "/a2a/planner?a=1", "/rpc?a=1"),
        ("/rpc", "/a2a/pl%61nner/tasks/1", "/rpc/tasks/1"),
    ],
)
async def test_a_path_goes_below_the_address_of_the_agent(base: str, path: str, arrives: str) -> None:
    echo = Echo(whole(b"{}"))
    async with bytes_server(echo) as agent, watched({"planner": agent + base}, Seen()) as front:
        await talk(front.port, asked(path))
    assert echo.heads[0].split(b" ")[1].decode() == arrives


@pytest.mark.parametrize("path", ["/a2a/nobody/x", "/a2a", "/a2a/", "/a2a/http://127.0.0.1:1/", "/a2a//planner"])
async def test_an_agent_that_was_not_named_cannot_be_reached(path: str) -> None:
    echo = Echo()
    async with bytes_server(echo) as agent, watched({"planner": agent, "critic": agent}, Seen()) as front:
        answer = await talk(front.port, asked(path))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404")
    assert "critic, planner" in json.loads(body)["error"]["message"]
    assert echo.heads == []


async def test_an_agent_that_is_down_gives_a_502_that_says_so_and_an_abort() -> None:
    seen = Seen()
    async with watched({"planner": "http://127.0.0.1:1"}, seen) as front:
        answer = await talk(front.port, asked("/a2a/planner/", "POST", SEND))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 502")
    assert "'planner' at http://127.0.0.1:1" in json.loads(body)["error"]["message"]
    request, end = frames(seen)
    assert request["body"] == json.loads(SEND)
    assert (end["kind"], end["by"]) == ("abort", "agent")


async def test_a_stream_passes_as_it_is_cut_and_is_told_event_by_event_while_it_runs() -> None:
    go_on = asyncio.Event()
    pieces = [b"data: {\"n\": 1}\r\n", b"\r\ndata: {\"n\"", b": 2}\r\n\r\n", b": ping - now\r\n\r\n", b"data: \xc3", b"\xa9\n\ndata: cut"]

    async def agent_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        await reader.readexactly(len(SEND))
        writer.write(STREAM)
        for piece in pieces:
            await go_on.wait()
            go_on.clear()
            writer.write(chunk(piece))
        await go_on.wait()
        writer.write(LAST)

    seen = Seen()
    slices = [1, 1, 2, 2, 2, 3]  # how many are told after each piece
    told = []
    async with bytes_server(agent_side) as agent, watched({"v1": agent}, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(asked("/a2a/v1/", "POST", SEND))
        await read_head(reader)
        for piece in pieces:
            go_on.set()
            assert await asyncio.wait_for(reader.readuntil(chunk(piece)), 5) == chunk(piece)
            await asyncio.sleep(0.02)
            told.append(sum(frame["kind"] == "sse" for frame in frames(seen)))
        go_on.set()
        assert await reader.read() == LAST
        writer.close()
        got = await frames_until(seen, "end")
    assert told == [0, *slices[1:]]
    assert [frame["kind"] for frame in got] == ["request", "response", "sse", "sse", "sse", "sse", "end"]
    assert "".join(frame.get("raw", "") for frame in got).encode() == b"".join(pieces)
    assert [frame["seq"] for frame in got] == list(range(7))
    assert {(frame["agent"], frame["connection"]) for frame in got} == {("v1", "run-1")}
    assert all(before["time"] <= after["time"] for before, after in pairwise(got))
    assert [record.place for record in records(seen)] == [f"v1/run-1#{n}" for n in range(7)]
    assert [record.id for record in records(seen)] == [frame_id("default", "v1", "run-1", n) for n in range(7)]
    assert all(b"\n" not in record.body for record in records(seen))


async def test_a_stream_that_the_agent_cuts_is_cut_for_the_client_and_told_as_an_abort() -> None:
    async def agent_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(STREAM + chunk(b"data: 1\n\n") + chunk(b"data: ha"))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()

    seen = Seen()
    async with bytes_server(agent_side) as agent, watched({"v1": agent}, seen) as front:
        answer = await talk(front.port, asked("/a2a/v1/", "POST", SEND))
        got = await frames_until(seen, "abort")
    assert answer.endswith(chunk(b"data: ha"))
    assert [frame["kind"] for frame in got] == ["request", "response", "sse", "sse", "abort"]
    assert got[-1]["by"] == "agent"


async def test_a_client_that_leaves_closes_the_way_to_the_agent_at_once() -> None:
    left = asyncio.Event()

    async def agent_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        await reader.readexactly(len(SEND))
        writer.write(STREAM + chunk(b"data: 1\n\n"))
        assert await reader.read() == b""
        left.set()

    seen = Seen()
    async with bytes_server(agent_side) as agent, watched({"v1": agent}, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(asked("/a2a/v1/", "POST", SEND))
        await reader.readuntil(b"data: 1\n\n")
        writer.close()
        await asyncio.wait_for(left.wait(), 5)
        got = await frames_until(seen, "abort")
    assert (got[-1]["by"], got[-2]["raw"]) == ("client", "data: 1\n\n")


async def test_an_answer_that_is_no_stream_is_one_frame_also_to_a_question_for_a_stream() -> None:
    answer = whole(b'{"jsonrpc": "2.0",\n "id": 1, "error": {"code": -32004, "message": "no"}}')
    seen = Seen()
    async with bytes_server(Echo(answer, body=len(SEND))) as agent, watched({"v1": agent}, seen) as front:
        got = await talk(front.port, asked("/a2a/v1/", "POST", SEND))
        told = await frames_until(seen, "response")
    assert got.partition(b"\r\n\r\n")[2] == answer.partition(b"\r\n\r\n")[2]
    assert [frame["kind"] for frame in told] == ["request", "response"]
    assert told[1]["body"]["error"] == {"code": -32004, "message": "no"}
    assert told[1]["status"] == 200


async def test_an_answer_that_breaks_off_is_told_as_such() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"a\": "

    async def agent_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(answer)
        await writer.drain()

    seen = Seen()
    async with bytes_server(agent_side) as agent, watched({"v1": agent}, seen) as front:
        assert (await talk(front.port, asked("/a2a/v1/tasks/1"))).endswith(b'{"a": ')
        told = (await frames_until(seen, "response"))[-1]
    assert (told["aborted"], told["body"]) == (True, '{"a": ')


async def test_bodies_of_ten_megabytes_pass_both_ways_and_are_kept() -> None:
    large = json.dumps({"raw": "A" * 10_500_000}).encode()
    echo, seen = Echo(whole(large), body=len(large)), Seen()
    async with bytes_server(echo) as agent, watched({"v1": agent}, seen) as front:
        answer = await talk(front.port, asked("/a2a/v1/", "POST", large))
        told = await frames_until(seen, "response")
    assert echo.bodies == [large]
    assert answer.endswith(large)
    assert [frame["body"] == json.loads(large) for frame in told] == [True, True]


async def test_what_is_too_long_to_keep_passes_in_full_and_is_noted() -> None:
    seen = Seen()
    async with bytes_server(Echo(whole(b'"' + b"x" * 98 + b'"'))) as agent, watched({"v1": agent}, seen, 10) as front:
        answer = await talk(front.port, asked("/a2a/v1/tasks/1"))
        told = (await frames_until(seen, "response"))[-1]
    assert answer.endswith(b'x"')
    assert told["body"] == '"' + "x" * 9
    assert told["note"] == "only the first 10 of 100 bytes of the response were kept"


async def test_a_packed_answer_passes_as_it_is_and_is_unpacked_in_the_copy() -> None:
    packed = gzip.compress(b'{"id": "t1"}')
    stream = gzip.compress(b"data: 1\n\ndata: 2\n\n")
    for body, kind in ((packed, b"application/json"), (stream, b"text/event-stream")):
        seen = Seen()
        answer = whole(body, kind, b"Content-Encoding: gzip\r\n")
        async with bytes_server(Echo(answer)) as agent, watched({"v1": agent}, seen) as front:
            assert (await talk(front.port, asked("/a2a/v1/tasks/1"))).endswith(body)
            told = await frames_until(seen, "end" if kind == b"text/event-stream" else "response")
        if kind == b"application/json":
            assert told[-1]["body"] == {"id": "t1"}
            assert "content-encoding" not in told[-1]["headers"]
        else:
            assert [frame.get("raw") for frame in told] == [None, None, "data: 1\n\ndata: 2\n\n", None]


async def test_bodies_that_are_no_json_are_kept_as_text_or_base64() -> None:
    for body, member, value in ((b"a=1\nb", "body", "a=1\nb"), (b"\xff\xfe", "body_b64", "//4=")):
        seen = Seen()
        async with bytes_server(Echo(whole(b"{}"), body=len(body))) as agent, watched({"v1": agent}, seen) as front:
            await talk(front.port, asked("/a2a/v1/", "POST", body))
            assert (await frames_until(seen, "response"))[0][member] == value


async def test_a_sink_that_fails_is_not_noticed_by_anybody() -> None:
    class Failing:
        def put(self, observation: Observation) -> None:
            raise RuntimeError

    async with bytes_server(Echo(whole(b"{}"))) as agent, watched({"v1": agent}, Failing()) as front:
        assert (await talk(front.port, asked("/a2a/v1/tasks/1"))).endswith(b"{}")
        await until(lambda: front.agents.lost == 2)


async def test_two_hundred_streams_run_at_the_same_time() -> None:
    everybody = asyncio.Event()
    there = 0

    async def agent_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal there
        await read_head(reader)
        writer.write(STREAM + chunk(b"data: first\n\n"))
        there += 1
        await everybody.wait()
        writer.write(chunk(b"data: last\n\n") + LAST)

    seen = Seen()
    async with bytes_server(agent_side) as agent, watched({"v1": agent}, seen) as front:
        talks = [asyncio.ensure_future(talk(front.port, asked("/a2a/v1/", "POST", SEND))) for _ in range(200)]
        await until(lambda: there == 200)
        everybody.set()
        answers = await asyncio.wait_for(asyncio.gather(*talks), 20)
        await until(lambda: sum(frame["kind"] == "end" for frame in frames(seen)) == 200)
    assert {unchunked(answer) for answer in answers} == {b"data: first\n\ndata: last\n\n"}
    assert len({frame["connection"] for frame in frames(seen)}) == 200
