"""Pushes to a server where people have to say who they are: somebody vouches for each, or brings it with a token."""

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ramify.model.identity import LOCAL
from ramify.served import Served
from ramify.web.webhooks import MOST_REFUSED
from tests.web.signing import Sender
from tests.web.test_events import ANSWER, PATH, REQUEST, Client, client, push, serving

SETTINGS = [{"require_token": True}, {"token": "a-long-word"}, {"host": "0.0.0.0", "token": "a-long-word"}]
A2A = {"statusUpdate": {"taskId": "t1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}


def made(served: Served, *scopes: str, projects: list[str] | None = None) -> str:
    name = f"{'-'.join(scopes)} {len(served.tokens.listed(LOCAL))}"
    secret = str(served.tokens.create(name, scopes, projects, 0, LOCAL)["secret"])
    served.access.read()
    return secret


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


async def opened(mine: Client, secret: str) -> None:
    """A task of somebody's session, at work."""
    await mine.data("POST", "/api/events", json=[{**REQUEST, "taskType": "sync"}, ANSWER], headers=bearer(secret))


async def state(mine: Client, secret: str) -> tuple[str, list[list[str]]]:
    detail = await mine.data("GET", "/api/operations/op_1234", headers=bearer(secret))
    return detail["operation"]["status"], [one["flags"] for one in detail["events"] if one["source"] == "webhook"]


@pytest.fixture(params=SETTINGS, ids=["require-token", "token", "host"])
async def guarded(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Served, Client]]:
    async with serving(**request.param) as (served, address), client(address.replace("0.0.0.0", "127.0.0.1")) as mine:
        yield served, mine


async def test_a_push_that_nobody_vouches_for_moves_nothing_and_is_told_what_is_missing(guarded: tuple[Served, Client]) -> None:
    served, mine = guarded
    admin = made(served, "admin")
    await opened(mine, admin)
    for body in (push(), A2A):
        for headers in ({}, bearer("rmf_wrong"), {"x-ramify-token": "wrong"}, {"X-A2A-Notification-Token": admin}):
            answer = await mine.ask("POST", PATH, status=401, json=body, headers=headers)
            assert (answer["received"], answer["error"]["code"]) == (False, "unauthorized")
            for word in ("RAMIFY_WEBHOOK_SECRET_AGENT_X", "RAMIFY_WEBHOOK_KEYS", "RAMIFY_WEBHOOK_TOKEN", "x-ramify-token"):
                assert word in answer["error"]["hint"]
    assert await state(mine, admin) == ("submitted", [])


async def test_a_token_that_may_capture_brings_a_push_and_one_that_may_not_does_not(guarded: tuple[Served, Client]) -> None:
    served, mine = guarded
    admin, capture, read = made(served, "admin"), made(served, "capture"), made(served, "read", "write")
    await opened(mine, admin)
    await mine.ask("POST", PATH, status=403, json=push("working"), headers={"x-ramify-token": read})
    await mine.ask("POST", PATH, json=push("working"), headers={"x-ramify-token": capture})
    await mine.ask("POST", PATH, json=push("completed", "whk_0000000000000002"), headers=bearer(capture))
    # Somebody who may brought them; that the agent sent them, nobody vouches for.
    assert await state(mine, admin) == ("completed", [["unverified"], ["unverified"]])
    events = await mine.data("GET", "/api/events?source=webhook", headers=bearer(admin))
    assert capture not in json.dumps(events)


async def test_a_token_for_one_project_moves_no_task_of_another(guarded: tuple[Served, Client]) -> None:
    served, mine = guarded
    admin, other = made(served, "admin"), made(served, "capture", projects=["billing"])
    await opened(mine, admin)
    await mine.ask("POST", PATH, json=push(), headers={"x-ramify-token": other})
    await mine.ask("POST", PATH, status=403, json=push(), headers={"x-ramify-token": other, "x-ramify-project": "default"})
    assert await state(mine, admin) == ("submitted", [])


async def test_an_agent_that_signs_or_has_its_token_needs_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender()
    monkeypatch.setenv("RAMIFY_WEBHOOK_SECRET_AGENT_X", "shared")
    monkeypatch.setenv("RAMIFY_WEBHOOK_TOKEN_AGENT_X", "of-a2a")
    monkeypatch.setenv("RAMIFY_WEBHOOK_KEYS_SIGNING", sender.keys)
    async with serving(require_token=True) as (served, address), client(address) as mine:
        admin = made(served, "admin")
        await opened(mine, admin)
        await mine.ask("POST", PATH, json=A2A, headers={"X-A2A-Notification-Token": "of-a2a"})
        raw, stamp = json.dumps(push()).encode(), str(int(time.time()))
        signed = "sha256=" + hmac.new(b"shared", f"{stamp}.".encode() + raw, hashlib.sha256).hexdigest()
        await mine.ask("POST", PATH, data=raw, headers={"X-ADCP-Timestamp": stamp, "X-ADCP-Signature": signed})
        there = "/webhook/sync/signing/op_1234"
        await mine.ask("POST", there, data=raw, headers=sender.headers(address + there, raw))
        status, flags = await state(mine, admin)
        assert (status, len(flags), {flag for one in flags for flag in one} & {"unverified"}) == ("completed", 3, set())
        # Where an agent's own secret is set, a token of ours does not take its place.
        await mine.ask("POST", PATH, status=401, json=push(key="whk_0000000000000009"), headers={"x-ramify-token": admin})


async def test_an_open_server_takes_by_courtesy_what_nobody_vouches_for() -> None:
    async with serving() as (_, address), client(address) as mine:
        await mine.post({**REQUEST, "taskType": "sync"}, ANSWER)
        await mine.ask("POST", PATH, json=push())
        detail: dict[str, Any] = await mine.data("GET", "/api/operations/op_1234")
        assert detail["operation"]["status"] == "completed"
        assert "unverified" in detail["events"][-1]["flags"]


async def test_who_is_refused_again_and_again_has_to_wait(guarded: tuple[Served, Client]) -> None:
    _, mine = guarded
    for _ in range(MOST_REFUSED):
        await mine.ask("POST", PATH, status=401, json=push())
    answer = await mine.ask("POST", PATH, status=429, json=push())
    assert answer["error"]["code"] == "too_many_attempts"
