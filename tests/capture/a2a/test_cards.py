"""A card leads clients back to the proxy, and to nowhere else."""

import json
import logging
from typing import Any

import pytest

from ramify.capture.a2a.cards import below, rewrite
from tests.capture.a2a.world import asked, frames_until, watched, whole
from tests.capture.world import Echo, Seen, bytes_server, talk

CARD = "/.well-known/agent-card.json"


def card(base: str, **more: Any) -> dict[str, Any]:
    """As an agent writes it that offers both versions."""
    return {
        "name": "Planner",
        "url": f"{base}/",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": base, "transport": "JSONRPC"}, {"url": f"{base}/v1/", "transport": "HTTP+JSON"}],
        "supportedInterfaces": [
            {"url": f"{base}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "http://elsewhere.example/rpc", "protocolBinding": "JSONRPC"},
            {"url": "127.0.0.1:50051", "protocolBinding": "GRPC"},
        ],
        "provider": {"url": base, "organization": "x"},
        "documentationUrl": f"{base}/docs",
        "iconUrl": f"{base}/icon.png",
        **more,
    }


def addresses(card: dict[str, Any]) -> list[str]:
    parts = [card, *card.get("additionalInterfaces", []), *card.get("supportedInterfaces", [])]
    return [part["url"] for part in parts]


def body_of(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def field(answer: bytes, name: str) -> str:
    head = answer.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return next((line.partition(":")[2].strip() for line in head if line.lower().startswith(name.lower() + ":")), "")


class CardServer(Echo):
    """Its card can only be written once its address is known."""

    def show(self, card: object, more: bytes = b"") -> None:
        self.answer = whole(json.dumps(card).encode(), more=more)


async def test_every_address_of_the_agent_is_ours_and_all_others_stay(caplog: pytest.LogCaptureFixture) -> None:
    server, seen = CardServer(), Seen()
    async with bytes_server(server) as agent, watched({"planner": agent}, seen) as front:
        server.show(card(agent), b'ETag: "theirs"\r\nX-Other: 1\r\n')
        with caplog.at_level(logging.WARNING, "ramify"):
            answer = await talk(front.port, asked("/a2a/planner" + CARD))
            await talk(front.port, asked("/a2a/planner" + CARD))
        told = await frames_until(seen, "response")
    ours = "http://ours:1/a2a/planner"
    got = body_of(answer)
    assert addresses(got) == [f"{ours}/", ours, f"{ours}/v1/", f"{ours}/rpc", "http://elsewhere.example/rpc", "127.0.0.1:50051"]
    assert {name: got[name] for name in ("provider", "documentationUrl", "iconUrl")} == {
        name: card(agent)[name] for name in ("provider", "documentationUrl", "iconUrl")
    }
    assert field(answer, "Content-Length") == str(len(answer.partition(b"\r\n\r\n")[2]))
    assert field(answer, "X-Other") == "1"
    assert field(answer, "ETag") not in ("", '"theirs"')
    assert told[1]["body"] == card(agent)  # what the agent said
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2  # once each, however often the card is asked for
    assert any("elsewhere.example" in line for line in said)
    assert any("gRPC at 127.0.0.1:50051" in line for line in said)


async def test_a_card_that_is_known_is_not_sent_again_and_one_that_changed_is() -> None:
    server = CardServer()
    async with bytes_server(server) as agent, watched({"planner": agent}, Seen()) as front:
        server.show(card(agent))
        tag = field(await talk(front.port, asked("/a2a/planner" + CARD)), "ETag")
        known = f"If-None-Match: W/{tag}, \"x\"\r\n"
        again = await talk(front.port, asked("/a2a/planner" + CARD, more=known))
        elsewhere = await talk(front.port, asked("/a2a/planner" + CARD, more=known, host="other:2"))
        server.show(card(agent, description="new"))
        changed = await talk(front.port, asked("/a2a/planner" + CARD, more=known))
    assert again.startswith(b"HTTP/1.1 304")
    assert again.endswith(b"\r\n\r\n")
    assert field(again, "ETag") == tag
    assert elsewhere.startswith(b"HTTP/1.1 200")  # another address, another card
    assert changed.startswith(b"HTTP/1.1 200")
    assert all(b"If-None-Match" not in head for head in server.heads)


async def test_a_signed_card_is_left_as_it_is_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    server = CardServer()
    async with bytes_server(server) as agent, watched({"planner": agent}, Seen()) as front:
        signed = card(agent, signatures=[{"protected": "x", "signature": "y"}])
        server.show(signed)
        with caplog.at_level(logging.WARNING, "ramify"):
            answer = await talk(front.port, asked("/a2a/planner" + CARD))
    assert body_of(answer) == signed
    assert "signed" in caplog.text


@pytest.mark.parametrize("path", ["/extendedAgentCard", "/v1/card", "/.well-known/agent.json", "/tenant/extendedAgentCard?x=1"])
async def test_every_place_of_a_card_is_known(path: str) -> None:
    server = CardServer()
    async with bytes_server(server) as agent, watched({"planner": agent}, Seen()) as front:
        server.show(card(agent))
        got = body_of(await talk(front.port, asked("/a2a/planner" + path)))
    assert got["url"] == "http://ours:1/a2a/planner/"


@pytest.mark.parametrize("method", ["agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"])
async def test_an_extended_card_that_a_call_asks_for_is_rewritten_inside_the_answer(method: str) -> None:
    question = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method}).encode()
    server = CardServer(body=len(question))
    async with bytes_server(server) as agent, watched({"planner": agent}, Seen()) as front:
        server.show({"jsonrpc": "2.0", "id": 7, "result": card(agent)})
        got = body_of(await talk(front.port, asked("/a2a/planner/", "POST", question)))
    assert got["id"] == 7
    assert got["result"]["supportedInterfaces"][0]["url"] == "http://ours:1/a2a/planner/rpc"
    assert server.bodies == [question]


async def test_other_answers_of_a_card_and_other_documents_pass_untouched() -> None:
    for answer in (
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
        whole(b'{"url": 5, "supportedInterfaces": "odd"}'),
        whole(b"[1, 2"),
    ):
        async with bytes_server(Echo(answer)) as agent, watched({"planner": agent}, Seen()) as front:
            got = await talk(front.port, asked("/a2a/planner" + CARD))
        assert got.partition(b"\r\n\r\n")[2] == answer.partition(b"\r\n\r\n")[2]
        assert got.split(b" ")[1] == answer.split(b" ")[1]


async def test_the_head_of_a_card_claims_no_size_that_its_body_would_not_have() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\nETag: x\r\n\r\n"
    async with bytes_server(Echo(head)) as agent, watched({"planner": agent}, Seen()) as front:
        got = await talk(front.port, asked("/a2a/planner" + CARD, "HEAD"))
    assert got.startswith(b"HTTP/1.1 200")
    assert (field(got, "Content-Length"), field(got, "ETag")) == ("", "")


async def test_a_card_below_a_path_is_looked_for_at_the_root_as_well() -> None:
    class Rooted(CardServer):
        async def __call__(self, reader: Any, writer: Any) -> None:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                found = self.heads[-1].startswith(b"GET /.well-known")
                writer.write(self.answer if found else b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    server = Rooted()
    async with bytes_server(server) as agent, watched({"planner": agent + "/rpc"}, Seen()) as front:
        server.show(card(agent))
        got = body_of(await talk(front.port, asked("/a2a/planner" + CARD)))
    assert [head.split(b" ")[1].decode() for head in server.heads] == ["/rpc" + CARD, CARD]
    assert got["supportedInterfaces"][0]["url"] == "http://ours:1/a2a/planner"
    assert got["additionalInterfaces"][1]["url"] == f"{agent}/v1/"  # cannot be reached below /rpc


@pytest.mark.parametrize(
    ("more", "ours"),
    [
        ("X-Forwarded-Host: public.example\r\nX-Forwarded-Proto: https\r\n", "https://public.example"),
        ("X-Forwarded-Host: a.example:8443, b.example\r\nX-Forwarded-Prefix: /tools/\r\n", "http://a.example:8443/tools"),
        ('X-Forwarded-Host: "><script>\r\nX-Forwarded-Proto: javascript\r\n', "http://ours:1"),
    ],
)
async def test_our_address_is_the_one_that_the_client_used(more: str, ours: str) -> None:
    server = CardServer()
    async with bytes_server(server) as agent, watched({"planner": agent}, Seen()) as front:
        server.show(card(agent))
        got = body_of(await talk(front.port, asked("/a2a/planner" + CARD, more=more)))
    assert got["url"] == f"{ours}/a2a/planner/"


@pytest.mark.parametrize(
    ("address", "base", "rest"),
    [
        ("http://h:1/", "http://h:1", "/"),
        ("http://h:1", "http://h:1", ""),
        ("http://H/x?y=1", "http://h:80", "/x?y=1"),
        ("http://0.0.0.0:9/x", "http://localhost:9", "/x"),
        ("http://h:1/rpc", "http://h:1/rpc", ""),
        ("http://h:1/rpc/", "http://h:1/rpc", "/"),
        ("http://h:1/rpcs", "http://h:1/rpc", None),
        ("http://h:12/", "http://h:1", None),
        ("https://h:1/", "http://h:1", None),
        ("http://h.evil:1/", "http://h:1", None),
        ("http://h:bad/", "http://h:1", None),
    ],
)
def test_an_address_is_the_agents_own_or_it_is_not(address: str, base: str, rest: str | None) -> None:
    assert below(address, base) == rest


def test_a_card_in_which_nothing_is_ours_keeps_its_bytes() -> None:
    body = b'{ "url":"http://elsewhere.example/", "name":"\\u00e9" }'
    assert rewrite(body, "http://h:1", "http://ours/a2a/x").body is body


async def test_the_header_that_a_card_calls_a_key_is_never_kept() -> None:
    server, seen = CardServer(), Seen()
    async with bytes_server(server) as agent, watched({"planner": agent}, seen) as front:
        schemes = {"a": {"type": "apiKey", "in": "header", "name": "X-Door"}, "b": {"apiKeySecurityScheme": {"name": "q", "location": "query"}}}
        server.show(card(agent, securitySchemes=schemes))
        await talk(front.port, asked("/a2a/planner" + CARD))
        await talk(front.port, asked("/a2a/planner/tasks/1?q=hunter2&n=1", more="x-door: open sesame\r\n"))
        told = await frames_until(seen, "response")
    request = next(frame for frame in told if frame.get("path", "").startswith("/tasks"))
    assert request["headers"]["x-door"] == "[redacted]"
    assert request["path"] == "/tasks/1?q=[redacted]&n=1"
    assert b"open sesame" in server.heads[1]
