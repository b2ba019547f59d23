"""What the sink is told of an exchange, and what happens when it will not listen."""

import json

import aiohttp

from ramify.demo.upstream import serving
from ramify.demo.wire import say
from ramify.model.observation import Observation
from tests.capture.world import HELLO, Echo, Seen, bytes_server, proxied, until


async def test_a_body_above_the_limit_passes_whole_and_is_kept_in_part() -> None:
    echo, seen = Echo(body=5000), Seen()
    async with (
        bytes_server(echo) as upstream,
        proxied(upstream, seen, body_limit=1000) as front,
        aiohttp.ClientSession() as session,
        session.post(front.url + "/v1/messages", data=b"x" * 5000) as response,
    ):
        assert await response.read() == b"ok"
        observed = await seen.response()
    assert echo.bodies == [b"x" * 5000]
    assert seen.requests[0].body == b"x" * 1000
    assert observed.error == "only the first 1000 of 5000 bytes of the request were kept"


async def test_a_sink_that_raises_is_counted_and_nobody_notices() -> None:
    class Broken:
        def put(self, observation: Observation) -> None:
            raise RuntimeError("no room")

    async with (
        serving(lambda _: say("Hi")) as upstream,
        proxied(upstream.url, Broken()) as front,
        aiohttp.ClientSession() as session,
    ):
        async with session.post(front.url + "/v1/messages", json=HELLO) as response:
            assert (await response.json())["content"] == [{"type": "text", "text": "Hi"}]
        await until(lambda: front.proxy.lost == 2)


async def test_what_is_observed_is_what_was_on_the_wire() -> None:
    seen = Seen()
    headers = {"X-Api-Key": "sk-secret-1234", "x-ramify-project": "shop", "User-Agent": "me"}
    async with (
        serving(lambda _: say("Hi")) as upstream,
        proxied(upstream.url, seen) as front,
        aiohttp.ClientSession() as session,
        session.post(front.url + "/anthropic/v1/messages?beta=true", json=HELLO, headers=headers) as answer,
    ):
        body = await answer.read()
        response = await seen.response()
        request = seen.requests[0]
        assert upstream.requests[0].path == "/v1/messages?beta=true"
        assert upstream.requests[0].header("x-ramify-project") == ""
    assert seen.observations == [request, response]
    assert (request.id, request.exchange, request.project) == ("obs_1", "obs_1", "shop")
    assert (request.method, request.path, request.source) == ("POST", "/v1/messages?beta=true", "proxy")
    assert request.credential == "print-of-1234"
    assert ("X-Api-Key", "sk-secret-1234") in request.headers
    assert json.loads(request.body) == HELLO
    assert (response.request, response.project, response.path) == ("obs_1", "shop", request.path)
    assert response.id not in ("", request.id)
    assert (response.status, response.outcome, response.body, response.error) == (200, "complete", body, "")
    assert request.at <= response.first_byte <= response.at
