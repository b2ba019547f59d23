"""The event log over HTTP, on a real server with the memory store: the seed's addresses, shapes and sessions."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from msgspec.structs import replace
from yarl import URL

from ramify.served import Served, open_served
from ramify.server import listening
from ramify.settings import load
from ramify.wiring import now

REQUEST = {
    "eventType": "protocol_request", "operationId": "op_1234", "agentId": "agent_x", "taskType": "get_products",
    "protocol": "mcp", "method": "get_products", "payload": {"params": {"tactic": "display"}}, "timestamp": "2026-01-01T00:00:00.000Z",
}  # fmt: skip
RESPONSE = {
    "eventType": "protocol_response", "operationId": "op_1234", "agentId": "agent_x", "agentTaskId": None,
    "taskType": "get_products", "status": "completed", "payload": {"products": []}, "timestamp": "2026-01-01T00:00:00.100Z",
}  # fmt: skip


@dataclass
class Client:
    http: aiohttp.ClientSession
    address: str

    async def ask(self, method: str, path: str, status: int = 200, **more: Any) -> dict[str, Any]:
        async with self.http.request(method, f"{self.address}{path}", **more) as answer:
            body: dict[str, Any] = await answer.json()
            assert answer.status == status, body
            return body

    async def data(self, method: str, path: str, **more: Any) -> Any:
        return (await self.ask(method, path, **more))["data"]

    async def post(self, *events: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.data("POST", "/api/events", json=list(events)))["results"]
        return found


@asynccontextmanager
async def serving(store: str = "memory:", **settings: Any) -> AsyncIterator[tuple[Served, str]]:
    served = open_served(replace(load({"store": store}, {}), port=0, **settings))
    try:
        async with listening(served, now) as address:
            yield served, address
    finally:
        await asyncio.get_running_loop().run_in_executor(None, served.close)


@asynccontextmanager
async def client(address: str) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        yield Client(http, address)


@pytest.fixture
async def mine() -> AsyncIterator[Client]:
    async with serving() as (_, address), client(address) as made:
        yield made


async def test_the_synchronous_flow_of_the_guide(mine: Client) -> None:
    assert [one["status"] for one in await mine.post(REQUEST, RESPONSE)] == ["stored", "stored"]
    answer = await mine.ask("GET", "/api/events?operation_id=op_1234&limit=10")
    assert answer["success"] is True
    assert answer["timestamp"].endswith("Z")
    assert [one["eventType"] for one in answer["data"]["events"]] == ["protocol_response", "protocol_request"]
    assert answer["data"]["events"][0]["agentTaskId"] is None
    [operation] = (await mine.data("GET", "/api/operations?limit=20"))["operations"]
    assert (operation["operationId"], operation["status"], operation["eventCount"]) == ("op_1234", "completed", 2)
    assert operation["byAgent"]["agent_x"]["responseMs"] == 100
    detail = await mine.data("GET", "/api/operations/op_1234")
    assert [one["seq"] for one in detail["events"]] == [1, 2]
    assert [one["status"] for one in detail["tasks"]] == ["completed"]
    info = await mine.data("GET", "/api/session/info")
    assert (info["eventCount"], info["operationCount"], info["taskCount"], info["openTasks"]) == (2, 1, 1, 0)
    assert (await mine.data("DELETE", "/api/events"))["deleted"] == 2
    assert (await mine.data("GET", "/api/events"))["events"] == []
    assert (await mine.data("GET", "/api/operations"))["operations"] == []


async def test_the_asynchronous_flow_of_the_guide(mine: Client) -> None:
    events = []
    for agent in "abc":
        base = {"operationId": "op_5678", "agentId": f"agent_{agent}", "taskType": "sync_creatives"}
        events += [
            {**base, "eventType": "protocol_request", "payload": {"params": {}}},
            {**base, "eventType": "protocol_response", "payload": {"status": "submitted", "task_id": f"task_{agent}1"}, "status": "submitted"},
            {**base, "eventType": "status_update", "agentTaskId": f"task_{agent}1", "status": "working" if agent == "c" else "completed"},
        ]
    await mine.post(*events)
    operation = (await mine.data("GET", "/api/operations/op_5678"))["operation"]
    assert operation["statusCounts"] == {"completed": 2, "working": 1}
    assert (operation["status"], operation["eventCount"], len(operation["agents"])) == ("working", 9, 3)


@pytest.mark.parametrize(
    "body",
    [
        {"json": [REQUEST, RESPONSE]},
        {"json": {"events": [REQUEST, RESPONSE]}},
        {"data": "\n".join(map(json.dumps, (REQUEST, RESPONSE))) + "\n\n", "headers": {"content-type": "application/x-ndjson"}},
    ],
    ids=["array", "object", "lines"],
)
async def test_every_way_to_write_a_batch(mine: Client, body: dict[str, Any]) -> None:
    answer = await mine.data("POST", "/api/events", **body)
    assert (answer["stored"], [one["seq"] for one in answer["results"]]) == (2, [1, 2])


async def test_a_batch_says_what_became_of_each(mine: Client) -> None:
    batch = [{**REQUEST, "eventId": "e1"}, {**REQUEST, "eventId": "e1"}, {**RESPONSE, "eventId": "e1"}, {"eventType": "x"}, 5]
    answer = await mine.data("POST", "/api/events", json=batch)
    assert [one["status"] for one in answer["results"]] == ["stored", "duplicate", "conflict", "rejected", "rejected"]
    assert (answer["stored"], answer["duplicates"], answer["conflicts"], answer["rejected"]) == (1, 1, 1, 2)
    assert (await mine.data("POST", "/api/events", json=batch[0]))["duplicates"] == 1
    nothing = await mine.ask("POST", "/api/events", status=400, json=[{"eventType": "x"}])
    assert (nothing["success"], nothing["data"]["rejected"]) == (False, 1)
    await mine.ask("POST", "/api/events", status=400, json=[])


@pytest.mark.parametrize(
    "query",
    [
        "limit=", "limit=0", "limit=1001", "limit=ten", "limit=-1", "limit=5.5", "since=yesterday", "since=2026-01-01T00:00:00",
        "until=", "after_seq=-1", "after_seq=x", "before_seq=1e3", "order=up", "nothing=1", "limit=NaN",
    ],
)  # fmt: skip
async def test_a_wrong_question_is_answered_with_a_hint(query: str) -> None:
    async with serving() as (_, address), client(address) as mine:
        answer = await mine.ask("GET", f"/api/events?{query}", status=400)
        assert answer["success"] is False
        assert answer["error"]["hint"]


async def test_filters_are_joined_and_times_are_the_stores(mine: Client) -> None:
    await mine.post(REQUEST, RESPONSE, {**REQUEST, "agentId": "other", "status": "cancelled"})
    found = (await mine.data("GET", "/api/events?agent_id=agent_x&event_type=protocol_request"))["events"]
    assert [one["seq"] for one in found] == [1]
    first = found[0]["recordedAt"]
    assert len((await mine.data("GET", "/api/events", params={"since": first}))["events"]) == 3
    assert (await mine.data("GET", "/api/events", params={"until": "2020-01-01T00:00:00+02:00"}))["events"] == []
    page = await mine.data("GET", "/api/events?after_seq=1&limit=1")
    assert [one["seq"] for one in page["events"]] == [2]
    assert (await mine.data("GET", "/api/events?status=canceled"))["events"][0]["native_status"] == "cancelled"


async def test_a_session_is_the_callers_own_and_nothing_else_opens_it(mine: Client) -> None:
    await mine.post(REQUEST)
    async with client(mine.address) as other:
        assert (await other.data("GET", "/api/events"))["events"] == []
        assert (await other.data("GET", "/api/operations/op_1234"))["exists"] is False
        assert (await other.data("DELETE", "/api/events"))["deleted"] == 0
    made_up = {"cookie": "ramify_session=mine"}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as bare, bare.get(f"{mine.address}/api/events", headers=made_up) as answer:
        given = answer.headers["set-cookie"]
        assert (await answer.json())["data"]["events"] == []
    assert not given.startswith("ramify_session=mine")
    for part in ("HttpOnly", "SameSite=Lax", "Path=/"):
        assert part in given
    assert len((await mine.data("GET", "/api/events"))["events"]) == 1


async def test_a_program_may_carry_its_session_in_a_header() -> None:
    async with serving() as (_, address), aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        async with http.post(f"{address}/api/events", json=REQUEST) as answer:
            token = answer.headers["X-Ramify-Session"]
        async with http.get(f"{address}/api/events", headers={"X-Ramify-Session": token}) as answer:
            body = await answer.json()
            assert "set-cookie" not in answer.headers
        assert len(body["data"]["events"]) == 1
        assert token not in json.dumps(body)
        async with http.get(f"{address}/api/session/info", headers={"X-Ramify-Session": token}) as answer:
            assert token not in await answer.text()
        async with http.get(f"{address}/api/events", headers={"X-Ramify-Session": token[:-1] + "x"}) as answer:
            assert (await answer.json())["data"]["events"] == []


async def test_a_cookie_outlives_the_server(tmp_path: Any) -> None:
    store = f"sqlite:{tmp_path}/store.db"
    async with serving(store) as (_, address), aiohttp.ClientSession() as http, http.post(f"{address}/api/events", json=REQUEST) as answer:
        token = answer.headers["X-Ramify-Session"]
    async with serving(store) as (_, address), aiohttp.ClientSession() as http:
        program = Client(http, address)
        headers = {"X-Ramify-Session": token}
        assert len((await program.data("GET", "/api/events", headers=headers))["events"]) == 1
        assert (await program.data("POST", "/api/events", headers=headers, json=RESPONSE))["results"][0]["seq"] == 2
        assert (await program.data("GET", "/api/operations", headers=headers))["operations"][0]["status"] == "completed"
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert token.encode() not in files


@pytest.mark.parametrize("native", ["a b", "a/b", 'q"uo\'te', "<script>", "ü漢😀", "a?b#c&d=e", "%2F"])
async def test_any_id_works_in_an_address(mine: Client, native: str) -> None:
    await mine.post({**REQUEST, "operationId": native, "agentId": native})
    url = URL(f"{mine.address}/api/operations/{quote(native, safe='')}", encoded=True)
    async with mine.http.get(url) as answer:
        body = await answer.json()
    assert (body["data"]["operationId"], body["data"]["exists"]) == (native, True)


async def test_twenty_writers_at_once_lose_nothing() -> None:
    async with serving() as (_, address), client(address) as mine:
        await mine.post({**REQUEST, "agentId": "first"})

        async def write(name: str) -> None:
            for number in range(10):
                await mine.post({**REQUEST, "agentId": name, "number": number})

        await asyncio.gather(*(write(f"w{number}") for number in range(20)))
        found = (await mine.data("GET", "/api/events?limit=1000&order=asc"))["events"]
    assert [one["seq"] for one in found] == list(range(1, 202))
    for name in {one["agentId"] for one in found} - {"first"}:
        assert [one["number"] for one in found if one["agentId"] == name] == list(range(10))


async def test_too_much_at_once_is_said_to_be_too_much(mine: Client) -> None:
    headers = {"content-type": "application/json"}
    answer = await mine.ask("POST", "/api/events", status=413, data=BytesIO(b"[" + b" " * (33 * 2**20)), headers=headers)
    assert answer["error"]["code"] == "too_large"
    await mine.ask("POST", "/api/events", status=400, data=b"{", headers=headers)
    await mine.ask("POST", "/api/events", status=400, data=b"{}", headers={"content-type": "text/plain"})


# -- the stream --------------------------------------------------------------------------------------------------------


async def frames(mine: Client, count: int, query: str = "", **headers: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    async with mine.http.get(f"{mine.address}/api/events/stream{query}", headers=headers) as answer, asyncio.timeout(20):
        assert answer.headers["content-type"].startswith("text/event-stream")
        frame: dict[str, str] = {}
        async for raw in answer.content:
            line = raw.decode().rstrip("\n")
            if not line:
                if "data" in frame:
                    found.append(frame)
                    if len(found) == count:
                        return found
                frame = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                frame[name] = value
    return found


async def test_a_stream_resumes_behind_a_number_and_then_is_live(mine: Client) -> None:
    await mine.post(REQUEST, RESPONSE, {**REQUEST, "agentId": "z"})
    waiting = asyncio.create_task(frames(mine, 4, **{"Last-Event-ID": "1"}))
    await asyncio.sleep(0.3)
    started = time.monotonic()
    await mine.post({"objectType": "creative", "operationId": "op_1234", "targetEntity": "z", "status": "ok"}, RESPONSE)
    found = await waiting
    assert time.monotonic() - started < 2
    assert [(one["id"], one.get("event")) for one in found] == [("2", None), ("3", None), ("4", "object"), ("5", None)]
    assert json.loads(found[0]["data"])["eventType"] == "protocol_response"
    only = await frames(mine, 1, "?after_seq=0&agent_id=z")
    assert [one["id"] for one in only] == ["3"]


async def test_a_stream_tells_of_gaps_and_of_an_emptied_session() -> None:
    async with serving(events_max_per_session=2) as (_, address), client(address) as mine:
        await mine.post(*[REQUEST] * 5)
        gap, *rest = await frames(mine, 3, "?after_seq=1")
        assert (gap["event"], json.loads(gap["data"])) == ("gap", {"from": 2, "to": 3})
        assert [one["id"] for one in rest] == ["4", "5"]
        waiting = asyncio.create_task(frames(mine, 2))
        await asyncio.sleep(0.3)
        await mine.data("DELETE", "/api/events")
        await mine.post(REQUEST)
        cleared, fresh = await waiting
        assert cleared["event"] == "cleared"
        assert (fresh["id"], json.loads(fresh["data"])["flags"]) == ("6", ["reopened"])
        await mine.ask("GET", "/api/events/stream?after_seq=x", status=400)


# -- webhooks ----------------------------------------------------------------------------------------------------------


def push(status: str = "completed", key: str = "whk_0000000000000001", **more: Any) -> dict[str, Any]:
    return {
        "idempotency_key": key, "operation_id": "op_1234", "task_id": "t1", "task_type": "sync", "status": status,
        "timestamp": "2026-01-01T00:00:00Z", **more,
    }  # fmt: skip


PATH = "/webhook/sync/agent_x/op_1234"
ANSWER = {**RESPONSE, "taskType": "sync", "payload": {"task_id": "t1", "status": "submitted"}, "status": "submitted"}


async def test_a_push_is_taken_into_the_session_that_wrote_to_its_operation(mine: Client) -> None:
    await mine.post({**REQUEST, "taskType": "sync"}, ANSWER)
    assert (await mine.ask("POST", PATH, json=push("working")))["received"] is True
    again = await mine.ask("POST", PATH, json=push("working"))
    assert again["duplicate"] is True
    conflict = await mine.ask("POST", PATH, status=409, json=push("failed"))
    assert conflict["error"]["code"] == "conflict"
    await mine.ask("POST", PATH, json=push("completed", "whk_0000000000000002"))
    detail = await mine.data("GET", "/api/operations/op_1234")
    assert (detail["operation"]["status"], detail["operation"]["flags"]) == ("completed", ["conflict"])
    pushed = [one for one in detail["events"] if one["source"] == "webhook"]
    assert [one["flags"] for one in pushed] == [["unverified"], ["duplicate", "unverified"], ["conflict", "unverified"], ["unverified"]]
    assert "payload" not in pushed[1]
    assert pushed[0]["idempotencyKey"].startswith("sha256:")
    assert pushed[0]["rawSha256"] == hashlib.sha256(json.dumps(push("working")).encode()).hexdigest()


async def test_a_push_that_nobody_waits_for_is_shown_to_whoever_opens_the_operation(mine: Client) -> None:
    await mine.ask("POST", PATH, json=push("working"))
    assert (await mine.data("GET", "/api/operations"))["operations"] == []
    await mine.post({**REQUEST, "taskType": "sync"}, ANSWER)
    detail = await mine.data("GET", "/api/operations/op_1234")
    assert (detail["operation"]["taskCount"], detail["operation"]["status"], detail["operation"]["flags"]) == (1, "working", [])
    assert [one["source"] for one in detail["events"]] == ["client", "webhook", "client"]


async def test_pushes_of_a2a_and_of_nobody_and_of_too_much(mine: Client) -> None:
    update = {"statusUpdate": {"taskId": "a1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    await mine.ask("POST", PATH, json=update)
    for nobody in ({"hello": 1}, {"task_id": ""}, {"task_id": 5, "status": "working"}, {"statusUpdate": {}}, {"task": {"id": ""}}):
        await mine.ask("POST", PATH, status=400, json=nobody)
    await mine.ask("POST", PATH, json={"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": []}})
    await mine.ask("POST", PATH, status=400, data=b"{", headers={"content-type": "application/json"})
    await mine.ask("POST", PATH, status=413, data=BytesIO(b"x" * (2**20 + 1)))


async def test_with_a_secret_only_signed_pushes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIFY_WEBHOOK_SECRET", "s3cret-of-ours")
    monkeypatch.setenv("RAMIFY_WEBHOOK_SECRET_OPEN_AGENT", "")
    async with serving() as (_, address), client(address) as mine:
        raw = json.dumps(push(), indent=1).encode()

        async def send(status: int, at: float, secret: str = "s3cret-of-ours", body: bytes = raw, path: str = PATH) -> None:
            stamp = str(int(at))
            signed = "sha256=" + hmac.new(secret.encode(), f"{stamp}.".encode() + raw, "sha256").hexdigest()
            headers = {"X-ADCP-Timestamp": stamp, "X-ADCP-Signature": signed, "content-type": "application/json"}
            await mine.ask("POST", path, status=status, data=body, headers=headers)

        await mine.ask("POST", PATH, status=401, json=push())
        await send(401, time.time() - 301)
        await send(401, time.time() + 301)
        await send(401, time.time(), "another")
        await send(401, time.time(), body=json.dumps(push()).encode())
        await send(200, time.time())
        await mine.post(REQUEST)
        [event] = (await mine.data("GET", "/api/events?source=webhook"))["events"]
        assert event["flags"] == []
        await mine.ask("POST", "/webhook/sync/open-agent/op_9", json=push())
        a2a = {"statusUpdate": {"taskId": "a1", "status": {"state": "TASK_STATE_WORKING"}}}
        await mine.ask("POST", PATH, status=401, json=a2a)
        await mine.ask("POST", PATH, json=a2a, headers={"X-A2A-Notification-Token": "s3cret-of-ours"})


async def test_secrets_of_a_push_are_neither_stored_nor_answered(tmp_path: Any) -> None:
    secret = "hmac-secret-echoed"
    body = push(result={"push_notification_config": {"authentication": {"credentials": secret}}, "echo": f"with {secret}"}, token=secret)
    async with serving(f"sqlite:{tmp_path}/store.db") as (_, address), client(address) as mine:
        await mine.post(REQUEST)
        await mine.ask("POST", PATH, json=body, headers={"authorization": "Bearer bearer-secret-1"})
        answer = json.dumps(await mine.data("GET", "/api/operations/op_1234"))
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for one in (secret, "bearer-secret-1", "whk_0000000000000001"):
        assert one not in answer
        assert one.encode() not in files
