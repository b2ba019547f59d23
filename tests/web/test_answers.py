import json
import logging
from typing import Any

import msgspec
import pytest

from ramify.web.app import ROUTES
from ramify.web.openapi import describe
from tests.web.served import Small, serving


async def asked(path: str, **headers: str) -> tuple[int, Any]:
    async with serving(Small()) as client, client.get(path, headers=headers) as response:
        return response.status, await response.json()


@pytest.mark.parametrize(
    ("id", "status", "code", "words"),
    [
        ("missing", 404, "not_found", 'Nothing has the id "missing"'),
        ("twice", 409, "ambiguous", '"twice" fits 2 things'),
        ("bad", 400, "bad_request", 'The cursor "x" is none of ours'),
        ("mistake", 400, "bad_request", "The value is wrong"),
    ],
)
async def test_a_mistake_of_the_asker_is_explained(id: str, status: int, code: str, words: str) -> None:
    got, answer = await asked(f"/api/tasks/{id}")
    assert got == status
    assert answer["error"]["code"] == code
    assert answer["error"]["message"] == words
    assert answer["error"]["hint"]


async def test_a_tree_that_is_too_deep_to_be_nested_says_how_else_it_is_told() -> None:
    status, answer = await asked("/api/tasks/deep/tree")
    assert (status, answer["error"]["code"]) == (400, "bad_request")
    assert "shape=skeleton" in answer["error"]["hint"]


async def test_an_ambiguous_id_lists_what_it_fits() -> None:
    _, answer = await asked("/api/tasks/twice")
    assert answer["error"]["candidates"] == [{"id": "task_a"}, {"id": "task_b"}]


async def test_our_own_bug_is_said_to_be_ours_and_its_details_are_only_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, "ramify.web"):
        status, answer = await asked("/api/tasks/bug")
    assert status == 500
    assert answer["error"]["code"] == "bug"
    assert "secret detail" not in json.dumps(answer)
    assert "ZeroDivisionError: a secret detail" in caplog.text


async def test_an_unknown_path_and_a_wrong_method_are_answered_in_json() -> None:
    assert (await asked("/api/nothing"))[0] == 404
    async with serving(Small()) as client, client.post("/api/tasks") as response:
        assert response.status == 405
        assert response.headers["allow"] == "GET"
        assert (await response.json())["error"]["hint"] == "Use GET"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=0", "limit"),
        ("limit=100001", "limit"),
        ("limit=ten", "limit"),
        ("limit=²", "limit"),
        ("roots=maybe", "roots"),
        ("colour=red", "colour"),
    ],
)
async def test_a_wrong_parameter_is_named(query: str, named: str) -> None:
    status, answer = await asked(f"/api/tasks?{query}")
    assert status == 400
    assert f'"{named}"' in answer["error"]["message"]


async def test_a_missing_parameter_is_named() -> None:
    status, answer = await asked("/api/search")
    assert status == 400
    assert '"q"' in answer["error"]["message"]


async def test_parameters_reach_the_question_and_the_answer_carries_the_number_of_the_log() -> None:
    status, answer = await asked("/api/tasks?roots=true&status=working&limit=7&ids=a,b")
    assert status == 200
    assert answer["seq"] == 41
    assert answer["items"] == [
        {
            "roots": True,
            "ids": ["a", "b"],
            "conversation": None,
            "status": "working",
            "project": None,
            "filter": None,
            "limit": 7,
            "cursor": None,
        }
    ]


async def test_a_tree_is_asked_for_in_either_shape_and_an_id_may_hold_a_slash() -> None:
    assert (await asked("/api/tasks/a2a:task:planner%2F7f3c/tree"))[1] == {
        "seq": 41,
        "asked": "tree",
        "id": "a2a:task:planner/7f3c",
    }
    assert (await asked("/api/conversations/c/tree?shape=skeleton"))[1]["asked"] == "skeleton"
    assert (await asked("/api/tasks/t/tree?shape=round"))[0] == 400


async def test_a_large_answer_is_packed_when_asked() -> None:
    async with serving(Small()) as client:
        async with client.get("/api/tasks/t", headers={"accept-encoding": "gzip"}) as response:
            assert response.headers["content-encoding"] == "gzip"
            assert int(response.headers["content-length"]) < 500
            assert (await response.json())["id"] == "t"
        async with client.get("/api/tasks/t", headers={"accept-encoding": "identity"}) as response:
            assert "content-encoding" not in response.headers


async def test_bodies_are_given_as_bytes_that_a_browser_saves_and_never_runs() -> None:
    async with serving(Small()) as client:
        async with client.get("/api/calls/call_1/response") as response:
            assert await response.read() == b"<script>alert(1)</script>"
            assert response.headers["content-type"] == "text/html; charset=utf-8"
            assert response.headers["content-disposition"] == 'attachment; filename="call_1-response.bin"'
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["content-security-policy"].startswith("sandbox")
            assert response.headers["x-ramify-content-encoding"] == "gzip"
        async with client.get("/api/calls/evil/request") as response:
            assert response.headers["content-type"] == "application/octet-stream"


async def test_links_are_made_and_taken_back() -> None:
    small = Small()
    async with serving(small) as client:
        async with client.post("/api/links", json={"child": "a", "parent": "b"}) as response:
            assert (await response.json()) == {"seq": 41, "id": "a"}
        async with client.delete("/api/links/a") as response:
            assert response.status == 200
        wrong: tuple[Any, ...] = ({"child": "a"}, {"child": 1, "parent": "b"}, [], {"child": "b" * 70_000})
        for body in wrong:
            async with client.post("/api/links", json=body) as response:
                assert response.status == 400
        async with client.post("/api/links", data=b'{"child":"a","parent":"b"}') as response:
            assert response.status == 400
    assert small.acts == [("link", "a", "b"), ("unlink", "a")]


async def test_traffic_to_watch_goes_to_the_proxy_and_the_root_says_where_things_are() -> None:
    async with serving(Small()) as client:
        for method, path in (
            ("POST", "/v1/messages"),
            ("GET", "/anthropic/v1/models"),
            ("POST", "/api/event_logging/batch"),
        ):
            async with client.request(method, path) as response:
                assert await response.text() == f"upstream {method} {path}"
        async with client.head("/") as response:
            assert response.status == 200
            assert int(response.headers["content-length"]) == len("upstream HEAD /")
        async with client.get("/") as response:
            assert "/api/openapi.json" in await response.text()
        async with client.get("/", headers={"accept": "application/json"}) as response:
            assert (await response.json())["places"]["live"] == "/api/live"


async def test_the_description_names_every_route_and_only_shapes_that_exist() -> None:
    status, document = await asked("/api/openapi.json")
    assert status == 200
    assert document["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    text = msgspec.json.encode(describe(ROUTES)).decode()
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(document["components"]["schemas"])
    ids = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(ids) == len(set(ids))


async def test_a_wrong_filter_is_pointed_at() -> None:
    status, answer = await asked("/api/calls?filter=has:tools%20statsu:ok")
    assert status == 400
    error = answer["error"]
    assert (error["code"], error["word"], error["start"], error["end"]) == ("bad_filter", "statsu:ok", 10, 19)
    assert error["hint"] == "did you mean status:?"


async def test_a_filter_reaches_every_list_and_the_search() -> None:
    assert (await asked("/api/tasks?filter=is:root"))[1]["items"][0]["filter"] == "is:root"
    assert (await asked("/api/tasks?roots=true&filter=status:failed"))[1]["looked"] == 0
    assert (await asked("/api/calls?filter=status:error"))[1]["looked"] == 0
    assert (await asked("/api/conversations?filter=cost%3E1"))[1]["looked"] == 0
    assert (await asked("/api/search?q=tree&filter=is:sub"))[1]["items"][0]["text"] == "tree is:sub"
    assert (await asked("/api/all/operations?filter=status:partial"))[1]["looked"] == 0
    assert (await asked("/api/all/operations?filter=model:x"))[0] == 400
    status, answer = await asked("/api/tasks/t/tools?filter=status:error")
    assert (status, answer["error"]["code"]) == (404, "not_found")  # understood, and asked of a task that is not there


async def test_a_filter_is_explained_while_it_is_written() -> None:
    status, answer = await asked("/api/filter?list=tasks&q=is:root%20statsu:x%20st&at=17")
    assert (status, answer["error"]["start"], answer["error"]["end"]) == (200, 8, 16)
    assert [one["text"] for one in (await asked("/api/filter?list=calls&q=status:&at=7"))[1]["suggestions"]] == ["ok ", "error ", "aborted ", "running "]
    assert (await asked("/api/filter?list=tasks&q=is:root"))[1]["terms"] == [{"start": 0, "end": 7, "says": "is root"}]
    assert (await asked("/api/filter?list=nothing"))[0] == 400
    assert (await asked("/api/filter"))[0] == 400
