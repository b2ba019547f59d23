"""Message batches: requests that were sent together, and answers that came back as lines of a file."""

import json
import random
from typing import Any

import pytest

from ramify.copying import copy
from ramify.forgetting import Note, Wish, forget
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Request, Response
from ramify.model.prices import PRICES, Tokens, price
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story as stories
from tests.linking.world_builder import BEGIN, SECOND, Block, text, use

MODEL = "claude-sonnet-4-5"
BATCHES = "/v1/messages/batches"
PAID = Prices(lambda model, at, tokens: price(model, at, tokens, PRICES), "test")


def params(*said: Any, **more: Any) -> Block:
    roles = ("user", "assistant")
    return {"model": MODEL, "max_tokens": 100, "messages": [{"role": roles[at % 2], "content": one} for at, one in enumerate(said)], **more}


def answer(id: str, *blocks: Block, stop: str = "end_turn", **more: Any) -> Block:
    usage = {"input_tokens": 1000, "output_tokens": 100, **more}
    message = {"id": id, "type": "message", "role": "assistant", "model": MODEL, "content": list(blocks), "stop_reason": stop, "usage": usage}
    return {"type": "succeeded", "message": message}


def exchange(name: str, at: float, method: str, path: str, asked: Any, given: bytes, **headers: str) -> tuple[Observation, ...]:
    id = observation_id("told", name)
    began = BEGIN + int(at * SECOND)
    body = b"" if asked is None else json.dumps(asked).encode()
    request = Request(id, "default", began, "exchanges", name, method, path, tuple(headers.items()), body)
    return request, Response(observation_id(id), "default", began + SECOND, "exchanges", id, path, 200, (("request-id", name),), given, "complete")


def made(name: str, at: float, batch: str, requests: dict[str, Block], **headers: str) -> tuple[Observation, ...]:
    listed = [{"custom_id": id, "params": one} for id, one in requests.items()]
    return exchange(name, at, "POST", BATCHES, {"requests": listed}, json.dumps({"id": batch, "type": "message_batch"}).encode(), **headers)


def results(name: str, at: float, batch: str, lines: dict[str, Block]) -> tuple[Observation, ...]:
    given = b"".join(json.dumps({"custom_id": id, "result": one}).encode() + b"\n" for id, one in lines.items())
    return exchange(name, at, "GET", f"{BATCHES}/{batch}/results", None, given)


def told(*seen: tuple[Observation, ...], size: int = 3) -> tuple[Sqlite, Questions]:
    store = open_sqlite("memory:")
    ingest = Ingest(store, prices=PAID)
    flat = [one for pair in seen for one in pair]
    for start in range(0, len(flat), size):
        ingest.step(flat[start : start + size])
    return store, Questions(store)


def forgotten(store: Sqlite, conversation: str) -> Block:
    return forget(store, Rules(), PAID, Wish(frozenset({conversation})), Note(1, "command"), lambda done, total: None)


def calls(questions: Questions) -> dict[str, Block]:
    return stories.calls_by_exchange(questions)


MADE = made("m", 0, "msgbatch_1", {"one": params("count the files"), "two": params("count the lines", tools=[{"name": "Bash"}])})
GIVEN = results("r", 900, "msgbatch_1", {"two": answer("msg_2", use("toolu_1", command="wc"), stop="tool_use"), "one": answer("msg_1", text("Three."))})


def test_each_request_of_a_batch_is_a_call_and_each_line_of_its_results_an_answer() -> None:
    _, questions = told(MADE, GIVEN)
    found = calls(questions)
    assert set(found) == {"msgbatch_1/one", "msgbatch_1/two"}
    one, two = found["msgbatch_1/one"], found["msgbatch_1/two"]
    assert [(call["status"], call["kind"], call["parent"], call["attempt_of"]) for call in (one, two)] == [("ok", "main", None, None)] * 2
    assert one["conversation"] != two["conversation"]
    assert {"protocol": "claude", "kind": "batch", "value": "msgbatch_1/one"} in one["refs"]
    assert not [ref for ref in one["refs"] if ref["kind"] == "request"], "that of fetching the results is nobody's"
    assert questions.call("claude:batch:msgbatch_1/two")["id"] == two["id"]
    task = questions.task(one["task"])
    assert (task["prompt"], task["prompt_author"], task["link"]) == ("count the files", "human", None)
    assert [(tool["call_id"], tool["status"]) for tool in questions.tools(two["task"])["items"]] == [("toolu_1", "running")]
    half = price(MODEL, BEGIN, Tokens(1000, 100, service_tier="batch"), PRICES)
    assert half is not None
    assert one["usage"]["cost_usd"] == half / 1e9


def test_a_batch_reads_the_same_in_any_order_and_twice() -> None:
    rows = stories.rows(told(MADE, GIVEN)[0])
    again = results("r2", 900, "msgbatch_1", {"one": answer("msg_1", text("Three.")), "two": answer("msg_2", use("toolu_1", command="wc"), stop="tool_use")})
    flat = [*MADE, *GIVEN, *MADE, *again]
    for seed in range(20):
        random.Random(seed).shuffle(flat)
        other = told(tuple(flat), size=1 + seed % 4)[0]
        assert stories.row_differences(rows, stories.rows(other)) == [], seed


def test_results_of_a_batch_that_nobody_saw_made_are_calls_without_a_task() -> None:
    _, questions = told(GIVEN)
    one = calls(questions)["msgbatch_1/one"]
    assert (one["status"], one["task"], one["conversation"], one["parent"]) == ("ok", None, None, None)
    assert (one["usage"]["output"], one["usage"]["calls"]) == (100, 1)
    assert questions.tasks(limit=0)["items"] == []
    assert questions.stats()["calls"] == 2


@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        ({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}}, "error", "invalid_request_error: no"),
        ({"type": "errored", "error": {"type": "overloaded_error", "message": "later"}}, "error", "overloaded_error: later"),
        ({"type": "canceled"}, "aborted", "the batch was canceled before this was sent"),
        ({"type": "expired"}, "error", "the batch expired before this was sent"),
        ({"type": "postponed"}, "error", "result of a batch: postponed"),
    ],
)
def test_what_was_not_answered_says_why(outcome: Block, status: str, error: str) -> None:
    for seen in ((MADE, results("r", 9, "msgbatch_1", {"one": outcome})), (results("r", 9, "msgbatch_1", {"one": outcome}),)):
        one = calls(told(*seen)[1])["msgbatch_1/one"]
        assert (one["status"], one["error"], one["usage"]["calls"]) == (status, error, 0)


def test_a_conversation_goes_on_from_a_batch() -> None:
    tool = [use("toolu_1", command="wc")]
    back = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12"}]
    next_one = made("m2", 1000, "msgbatch_2", {"two": params("count the lines", tool, back)})
    _, questions = told(MADE, GIVEN, next_one, results("r2", 2000, "msgbatch_2", {"two": answer("msg_3", text("Twelve."))}))
    found = calls(questions)
    first, second = found["msgbatch_1/two"], found["msgbatch_2/two"]
    assert (second["parent"], second["task"], second["conversation"]) == (first["id"], first["task"], first["conversation"])
    assert questions.tool("toolu_1")["status"] == "ok"


def test_requests_of_one_batch_are_no_attempts_of_each_other() -> None:
    same = made("m", 0, "msgbatch_1", {"a": params("say something"), "b": params("say something")})
    _, questions = told(same, results("r", 9, "msgbatch_1", {"a": {"type": "expired"}, "b": answer("msg_1", text("Something."))}))
    assert [call["attempt_of"] for call in calls(questions).values()] == [None, None]


def test_what_was_sent_again_after_it_expired_is_a_further_attempt() -> None:
    first = made("m", 0, "msgbatch_1", {"a": params("say something")})
    again = made("m2", 90_000, "msgbatch_2", {"a": params("say something")})
    _, questions = told(first, results("r", 86_500, "msgbatch_1", {"a": {"type": "expired"}}), again)
    found = calls(questions)
    assert found["msgbatch_2/a"]["attempt_of"] == found["msgbatch_1/a"]["id"]
    assert found["msgbatch_2/a"]["status"] == "running"


def test_lines_that_cannot_be_read_and_other_batches_at_that_address_are_left_alone() -> None:
    listed = exchange("l", 5, "GET", BATCHES, None, b'{"data": [{"id": "msgbatch_9", "type": "message_batch"}], "has_more": false}')
    asked = exchange("s", 6, "GET", f"{BATCHES}/msgbatch_1", None, b'{"id": "msgbatch_1", "type": "message_batch"}')
    whole = GIVEN[1]
    assert isinstance(whole, Response)
    cut = Response(whole.id, "default", whole.at, "exchanges", whole.request, whole.path, 200, (), b"[1]\n{}\n" + whole.body[:-40], "aborted")
    _, questions = told(MADE, listed, asked, (GIVEN[0], cut))
    assert {name: call["status"] for name, call in calls(questions).items()} == {"msgbatch_1/one": "running", "msgbatch_1/two": "ok"}


def test_the_bodies_that_held_all_are_forgotten_with_the_last_of_them() -> None:
    store, questions = told(MADE, GIVEN)
    one, two = calls(questions)["msgbatch_1/one"], calls(questions)["msgbatch_1/two"]
    first = forgotten(store, one["conversation"])
    assert (first["observations"], first["shared"]) == (2, 4)
    assert calls(Questions(store)) == {"msgbatch_1/two": two}
    forgotten(store, two["conversation"])
    assert [seen for _, seen in store.observations()] == []


def test_a_copy_has_what_its_source_has_and_no_more() -> None:
    store, questions = told(MADE, GIVEN)
    forgotten(store, calls(questions)["msgbatch_1/one"]["conversation"])
    target = open_sqlite("memory:")
    told_of = copy(store, target, Rules(), PAID, lambda done, total: None)
    assert told_of["copied"] == len(list(store.observations()))
    assert stories.row_differences(stories.rows(store), stories.rows(target)) == []
