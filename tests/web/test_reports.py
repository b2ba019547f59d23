"""What programs report is taken as it is; a client that tells a hook never gets more than an empty answer."""

import json
from typing import Any

import pytest

from ramify.model.observation import Record
from ramify.model.reported import encode_records
from tests.web.served import Small, serving

JSON = {"content-type": "application/json"}
RECORD = Record("obs_1", "billing", 7, "stream", "sdk", "sdk-1:1", '{"class": "AssistantMessage", "text": "é"}'.encode())


async def test_records_arrive_as_they_were_sent() -> None:
    small = Small()
    async with (
        serving(small) as client,
        client.post("/api/records", data=encode_records([RECORD, RECORD]), headers=JSON) as response,
    ):
        assert (response.status, await response.json()) == (200, {"taken": 2})
    assert small.observed == [RECORD, RECORD]


async def test_a_record_without_a_project_belongs_to_the_servers_own() -> None:
    small = Small()
    small.project = "own"
    sent = {"id": "obs_1", "at": 7, "source": "stream", "format": "sdk", "body": "{}"}
    async with serving(small) as client, client.post("/api/records", json={"records": [sent]}) as response:
        assert response.status == 200
    assert small.observed == [Record("obs_1", "own", 7, "stream", "sdk", "", b"{}")]


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"\xff", b'{"records": [{"id": "obs_1"}]}', b'{"records": [], "more": 1}', b"[" * 10_000]
)
async def test_what_is_no_batch_is_explained(body: bytes) -> None:
    small = Small()
    async with serving(small) as client, client.post("/api/records", data=body, headers=JSON) as response:
        assert response.status == 400
        assert '{"records"' in (await response.json())["error"]["hint"]
    assert small.observed == []


@pytest.mark.parametrize("path", ["/api/records", "/api/hooks/claude"])
async def test_a_foreign_page_or_a_stranger_reports_nothing(path: str) -> None:
    small = Small("a-token")
    headers = {**JSON, "authorization": "Bearer a-token"}
    async with serving(small) as client:
        async with client.post(path, data=b"{}", headers={**headers, "origin": "https://evil.example"}) as response:
            assert response.status == 403
        async with client.post(path, data=b"{}", headers=JSON) as response:
            assert response.status == 401
    assert small.observed == []


async def test_a_form_reports_no_records() -> None:
    async with serving(Small()) as client, client.post("/api/records", data=b"{}") as response:
        assert response.status == 400


@pytest.mark.parametrize("body", [b'{"hook_event_name": "Stop"}', b"", b"no json", b"\xff\x00"])
async def test_whatever_a_hook_is_told_is_kept_and_answered_with_nothing(body: bytes) -> None:
    small = Small()
    async with serving(small) as client, client.post("/api/hooks/claude", data=body) as response:
        assert (response.status, await response.read()) == (200, b"{}")
        assert response.content_type == "application/json"
    (seen,) = small.observed
    assert isinstance(seen, Record)
    assert (seen.body, seen.format, seen.source, seen.at) == (body, "claude-hook", "hook", small.clock() - 1)


async def test_two_hooks_that_say_the_same_are_two() -> None:
    small = Small()
    async with serving(small) as client:
        for _ in range(2):
            async with client.post("/api/hooks/claude", data=b"{}", headers={"x-ramify-project": "billing"}) as response:
                assert response.status == 200
    assert len({seen.id for seen in small.observed}) == 2
    assert {seen.project for seen in small.observed} == {"billing"}


async def test_bodies_and_answers_are_described() -> None:
    async with serving(Small()) as client, client.get("/api/openapi.json") as response:
        described: dict[str, Any] = json.loads(await response.read())
    act = described["paths"]["/api/records"]["post"]
    assert act["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Batch"}
    assert act["responses"]["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Taken"}
    link = described["paths"]["/api/links"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert described["components"]["schemas"][link["$ref"].rpartition("/")[2]]["required"] == ["child", "parent"]
