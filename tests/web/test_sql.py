"""SQL over HTTP: posted as JSON, bounded, and only for those who may ask."""

import asyncio
from typing import Any

import pytest

from tests.web.served import Small, serving


async def posted(body: Any, small: Small | None = None, **headers: str) -> tuple[int, Any]:
    async with serving(small or Small()) as client, client.post("/api/sql", json=body, headers=headers) as response:
        return response.status, await response.json()


async def test_a_query_is_answered() -> None:
    status, answer = await posted({"sql": "SELECT 1 AS a, x'00ff' AS b, NULL AS c UNION ALL SELECT 2, 'x', 0.5"})
    assert status == 200
    assert (answer["columns"], answer["rows"], answer["more"], answer["seq"]) == (["a", "b", "c"], [[1, "00ff", None], [2, "x", 0.5]], False, 41)
    assert (await posted({"sql": "SELECT 1 UNION ALL SELECT 2", "limit": 1}))[1]["more"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"sql": "DROP TABLE tasks"}, "may not do anything but read"),
        ({"sql": "SELECT value FROM facts"}, "may not use the table facts"),
        ({"sql": "SELECT", "limit": 0}, "limit is 0"),
        ({"sql": "SELECT", "limit": 100_001}, "limit is 100001"),
        ({"query": "SELECT 1"}, "holds no query"),
        ([], "holds no query"),
    ],
)
async def test_what_is_wrong_is_said(body: Any, words: str) -> None:
    status, answer = await posted(body)
    assert status == 400
    assert words in answer["error"]["message"]


async def test_nobody_can_ask_from_a_foreign_page_by_a_form_or_without_the_token() -> None:
    assert (await posted({"sql": "SELECT 1"}, origin="http://evil.example"))[0] == 403
    assert (await posted({"sql": "SELECT 1"}, Small(token="t")))[0] == 401
    assert (await posted({"sql": "SELECT 1"}, Small(token="t"), authorization="Bearer t"))[0] == 200
    async with serving(Small()) as client:
        async with client.get("/api/sql", params={"sql": "SELECT 1"}) as response:
            assert response.status == 405
        async with client.post("/api/sql", data={"sql": "SELECT 1"}) as response:
            assert response.status == 400


async def test_slow_queries_are_ended_and_do_not_take_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.web.sql.SECONDS", 0.5)
    forever = {"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"}
    async with serving(Small()) as client:

        async def one() -> int:
            async with client.post("/api/sql", json=forever) as response:
                return response.status

        assert sorted(await asyncio.gather(*(one() for _ in range(6)))) == [400, 400, 429, 429, 429, 429]
        async with client.post("/api/sql", json={"sql": "SELECT 1"}) as response:
            assert response.status == 200


async def test_one_token_leaves_a_turn_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.web.sql.SECONDS", 0.5)
    forever = {"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"}
    served = Small(token="t")
    async with serving(served) as client:

        async def one(token: str) -> int:
            async with client.post("/api/sql", json=forever, headers={"authorization": f"Bearer {token}"}) as response:
                return response.status

        mine = [asyncio.create_task(one("t")) for _ in range(4)]
        await asyncio.sleep(0.1)
        assert await one(served.access.own) == 400  # it took too long, but it had its turn
        assert sorted(await asyncio.gather(*mine)) == [400, 429, 429, 429]
