"""Pushes signed by RFC 9421, to a real server: taken when everything fits, refused with the reason when anything does not."""

import json
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ramify.model.mistake import UserMistake
from ramify.protocols.adcp.message_signature import Signer
from ramify.protocols.adcp.signed_headers import Malformed, read_binary, read_covered
from ramify.protocols.adcp.target import authority, target_uri
from ramify.web.pushers import KEYS, BadSignature, Nonces, Pushers
from tests.web.signing import COVERED, Sender
from tests.web.test_events import ANSWER, REQUEST, Client, client, push, serving

PATH = "/webhook/sync/agent_x/op_1234"
Change = Callable[[dict[str, str]], None]


@pytest.fixture
async def mine(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Client, Sender]]:
    sender = Sender()
    monkeypatch.setenv(KEYS, sender.keys)
    async with serving() as (_, address), client(address) as made:
        yield made, sender


async def send(mine: Client, sender: Sender, status: int, body: bytes = b"", path: str = PATH, **more: str) -> dict[str, Any]:
    raw = body or json.dumps(push(), indent=1).encode()
    return await mine.ask("POST", path, status=status, data=raw, headers=sender.headers(mine.address + path, raw) | more)


@pytest.mark.parametrize("algorithm", ["ed25519", "ecdsa-p256-sha256"])
async def test_a_signed_push_is_verified_and_its_signature_is_stored_nowhere(algorithm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sender = Sender(algorithm)
    monkeypatch.setenv(KEYS, sender.keys)
    async with serving(f"sqlite:{tmp_path}/store.db") as (_, address), client(address) as mine:
        await mine.post({**REQUEST, "taskType": "sync"}, ANSWER)
        raw = json.dumps(push()).encode()
        headers = sender.headers(mine.address + PATH, raw)
        assert (await mine.ask("POST", PATH, data=raw, headers=headers))["received"] is True
        [event] = (await mine.data("GET", "/api/events?source=webhook"))["events"]
    assert (event["flags"], event["status"]) == ([], "completed")
    assert headers["signature"].encode() not in everything_in(tmp_path)


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("changed", "covered", "code"),
    [
        ({"tag": "adcp/request-signing/v1"}, COVERED, "tag_invalid"),
        ({"alg": "rsa-pss-sha512"}, COVERED, "alg_not_allowed"),
        ({"alg": "ecdsa-p256-sha256"}, COVERED, "key_purpose_invalid"),
        ({"keyid": "nobody"}, COVERED, "key_unknown"),
        ({"nonce": None}, COVERED, "params_incomplete"),
        ({"created": 1_000_000_000, "expires": 1_000_000_300}, COVERED, "window_invalid"),
        ({"created": 4_000_000_000, "expires": 4_000_000_300}, COVERED, "window_invalid"),
        ({"expires": int(time.time()) + 4000}, COVERED, "window_invalid"),
        ({"created": "now"}, COVERED, "header_malformed"),
        ({}, COVERED[:-1], "components_incomplete"),
        ({}, COVERED[1:], "components_incomplete"),
    ],
)
async def test_a_signature_that_says_too_little_or_the_wrong_thing_is_refused(
    mine: tuple[Client, Sender], changed: dict[str, Any], covered: tuple[str, ...], code: str
) -> None:
    here, sender = mine
    sender.changed, sender.covered = changed, covered
    answer = await send(here, sender, 401)
    assert answer["error"]["code"] == f"webhook_signature_{code}"
    assert answer["error"]["message"]


async def test_another_body_address_key_or_no_signature_at_all_is_refused(mine: tuple[Client, Sender]) -> None:
    here, sender = mine
    raw = json.dumps(push()).encode()
    headers = sender.headers(here.address + PATH, raw)

    async def refused(code: str, headers: dict[str, str], body: bytes = raw, path: str = PATH) -> None:
        answer = await here.ask("POST", path, status=401, data=body, headers=headers)
        assert answer["error"]["code"] == f"webhook_signature_{code}"

    await refused("digest_mismatch", headers, raw + b" ")
    await refused("invalid", headers, path="/webhook/sync/agent_x/op_9")
    await refused("invalid", Sender().headers(here.address + PATH, raw))
    await refused("invalid", headers | {"content-type": "application/json; charset=utf-8"})
    await refused("header_malformed", {"content-type": "application/json"})
    for missing in ("signature", "signature-input"):
        await refused("header_malformed", {name: value for name, value in headers.items() if name != missing})
    await refused("header_malformed", headers | {"signature-input": f"{headers['signature-input']}, {headers['signature-input']}"})
    await here.ask("POST", PATH, data=raw, headers=headers)
    await refused("replayed", headers)
    again = await send(here, sender, 200, raw)  # a new signature for what came already
    assert again["duplicate"] is True


async def test_keys_of_one_agent_and_a_secret_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    signs, other = Sender(), Sender()
    monkeypatch.setenv(f"{KEYS}_AGENT_X", signs.keys)
    monkeypatch.setenv("RAMIFY_WEBHOOK_SECRET", "s3cret-of-ours")
    update = {"statusUpdate": {"taskId": "a1", "status": {"state": "TASK_STATE_WORKING"}}}
    async with serving() as (_, address), client(address) as mine:
        await send(mine, signs, 200)
        await send(mine, signs, 200, json.dumps(update).encode())  # A2A's pushes may be signed as well
        await send(mine, other, 401)  # no way back to the secret for what claims to be signed
        await mine.ask("POST", PATH, json=update, headers={"X-A2A-Notification-Token": "s3cret-of-ours"})
        await send(mine, signs, 401, path="/webhook/sync/agent_y/op_1234")


async def test_behind_a_proxy_the_address_is_what_the_operator_says(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender()
    monkeypatch.setenv(KEYS, sender.keys)
    monkeypatch.setenv("RAMIFY_WEBHOOK_URL", "https://hooks.example.com/in/")
    raw = json.dumps(push()).encode()
    async with serving() as (_, address), client(address) as mine:
        await mine.ask("POST", PATH, data=raw, headers=sender.headers(f"https://hooks.example.com/in{PATH}", raw))
        await send(mine, sender, 401, raw)


async def test_a_file_of_keys_is_read_again_and_a_broken_one_takes_no_key_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = Sender(name="first"), Sender(name="second")
    path = tmp_path / "keys.json"
    path.write_text(first.keys)
    monkeypatch.setenv(KEYS, str(path))
    async with serving() as (_, address), client(address) as mine:
        await send(mine, first, 200)
        await send(mine, second, 401)
        path.write_text(json.dumps({"keys": [second.key, first.key]}))
        await send(mine, second, 200)
        path.write_text("{")
        await send(mine, second, 200)
        path.write_text(first.keys)
        assert (await send(mine, second, 401))["error"]["code"] == "webhook_signature_key_unknown"


@pytest.mark.parametrize(
    "keys", ["{", '{"keys": [1]}', '{"keys": [{"kid": "a", "kty": "RSA"}]}', '{"keys": [{"kid": "a", "kty": "OKP", "crv": "Ed25519", "x": "AA"}]}', "/no/such/file"]
)
def test_keys_that_cannot_be_read_stop_the_start(keys: str) -> None:
    with pytest.raises(UserMistake, match="RAMIFY_WEBHOOK_KEYS"):
        Pushers({**os.environ, KEYS: keys})


def test_nonces_are_bounded_and_forgotten_only_when_nobody_could_use_them() -> None:
    nonces = Nonces(2)
    for name in "ab":
        nonces.check(Signer("k", name, 1300), 1000)
        nonces.keep(Signer("k", name, 1300))
    with pytest.raises(BadSignature) as seen:
        nonces.check(Signer("k", "c", 1300), 1000)
    assert seen.value.code == "webhook_signature_rate_abuse"
    with pytest.raises(BadSignature, match="used before"):
        nonces.check(Signer("k", "a", 1300), 1360)
    nonces.check(Signer("k", "a", 1700), 1361)
    nonces.check(Signer("other", "c", 1700), 1361)


@pytest.mark.parametrize(
    ("url", "target", "host"),
    [
        ("HTTPS://Buyer.Example.com:443/a/./b/../c", "https://buyer.example.com/a/c", "buyer.example.com"),
        ("http://h:8080?x=1&a=%2f", "http://h:8080/?x=1&a=%2f", "h:8080"),
        ("https://h/%e2%98%83/%7euser?", "https://h/%E2%98%83/~user?", "h"),
        ("http://[::1]:80/p#part", "http://[::1]/p", "[::1]"),
        ("https://user:word@h./", "https://h/", "h"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
    ],
)
def test_addresses_are_written_in_one_way(url: str, target: str, host: str) -> None:
    assert (target_uri(url), authority(url)) == (target, host)


@pytest.mark.parametrize("url", ["https:///p", "https://:80/", "https://a:b/", "https://[::1/", "https://[::1%25eth0]/", "https://./", "https://a..b/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whose, does not matter
        target_uri(url)


@given(some.text(alphabet='sig1=();,:" \\\t@-method0123456789abcAB_/+' , max_size=80))
def test_whatever_stands_in_the_headers_is_read_or_malformed(text: str) -> None:
    for read in (lambda: read_covered(text, "sig1"), lambda: read_binary(text, "sig1", "Signature")):
        try:
            read()
        except Malformed:
            pass
