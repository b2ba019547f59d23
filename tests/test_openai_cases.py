"""Traffic of OpenAI-compatible clients: the same tree in any order, seen twice, and whatever was cut; no secret in a stream's pieces."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.capture.redact import redact_sse
from ramify.protocols.anthropic.normal import read_part
from ramify.protocols.model_api import CHAT, RESPONSES, api_of
from tests import story
from tests.peers.openai_api import (
    Said,
    chat_body,
    chat_message,
    chat_pieces,
    output_items,
    response_body,
    response_events,
)
from tests.peers.test_openai import ROOT, STORY, TRAINS

Line = dict[str, Any]
HEADERS = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}


def sse(events: list[Any]) -> str:
    return "".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events)


def line(number: int, path: str, body: Line, answer: Line) -> Line:
    at = f"2026-01-01T00:00:{number * 2:02}.000000Z"
    end = f"2026-01-01T00:00:{number * 2 + 1:02}.000000Z"
    return {"id": f"x{number}", "started": at, "ended": end, "request": {"method": "POST", "path": path, "headers": HEADERS, "body": body}, "response": answer}


def chat_lines(stream: bool) -> list[Line]:
    """The root asks, the expert asks and ends, the root ends: as their loops would send it."""
    asked: dict[str, list[Any]] = {prompt: [{"role": "system", "content": "Help."}, {"role": "user", "content": prompt}] for prompt in STORY}
    lines = []
    for number, (prompt, turn) in enumerate([(ROOT, 0), (TRAINS, 0), (TRAINS, 1), (ROOT, 1)], 1):
        said = STORY[prompt][turn]
        pieces = {"status": 200, "headers": SSE, "sse": sse([*chat_pieces(f"c{number}", "gpt-test", said), "[DONE]"])}
        whole = {"status": 200, "headers": HEADERS, "body": chat_body(f"c{number}", "gpt-test", said)}
        lines.append(line(number, "/v1/chat/completions", {"model": "gpt-test", "messages": list(asked[prompt])}, pieces if stream else whole))
        asked[prompt].append(chat_message(said))
        for id, name, _ in said.tools:
            result = STORY[TRAINS][1].text if name == "ask_expert" else "IC 511 8:12"
            asked[prompt].append({"role": "tool", "tool_call_id": id, "content": result})
    return lines


def shape(lines: list[Line], seed: int | None = None, size: int = 3, twice: bool = False) -> tuple[Any, Any]:
    seen = [tuple(story.observe(one)) for one in lines]
    seen = story.shuffled(seen, seed) if seed is not None else seen
    store, questions = story.told([*seen, *seen] if twice else seen, size)
    (root,) = questions.tasks(roots=True)["items"]
    tree = questions.tree(root["id"])
    return story.rows(store), (tree["prompt"], tree["status"], [(child["prompt"], child["link"]["via"]) for child in tree["children"]])


@pytest.mark.parametrize("stream", [False, True])
def test_any_order_and_twice_give_the_same_rows(stream: bool) -> None:
    rows, tree = shape(chat_lines(stream))
    assert tree == (ROOT, "completed", [(TRAINS, "call_delegate_1")])
    for seed, size in itertools.product(range(12), (1, 4)):
        others, same = shape(chat_lines(stream), seed, size, twice=seed % 2 == 0)
        assert same == tree
        assert story.row_differences(rows, others) == []


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    for said in [one for turns in STORY.values() for one in turns]:
        whole = CHAT.whole(json.dumps(chat_body("c", "m", said)).encode())
        pieces = CHAT.streamed(sse([*chat_pieces("c", "m", said), "[DONE]"]).encode())
        assert pieces == whole
        body = response_body("r", "m", output_items("r", said))
        assert RESPONSES.streamed(sse(response_events(body)).encode()) == RESPONSES.whole(json.dumps(body).encode())


@pytest.mark.parametrize("turn", range(2))
def test_an_answer_is_known_again_when_it_comes_back(turn: int) -> None:
    said = STORY[ROOT][turn]
    answer = read_part({"role": "assistant", "content": CHAT.whole(json.dumps(chat_body("c", "m", said)).encode()).blocks})
    assert CHAT.part(json.dumps(chat_message(said)).encode()).atoms == answer.atoms
    items = output_items("r", said)
    whole = read_part({"role": "assistant", "content": RESPONSES.whole(json.dumps(response_body("r", "m", items)).encode()).blocks})
    back = [atom.digest for item in items for atom in RESPONSES.part(json.dumps(item).encode()).atoms]
    assert back == [atom.digest for atom in whole.atoms]


def test_a_trace_ties_what_no_words_do() -> None:
    """The expert is asked in other words than its tool call holds, by a program that passes the trace on."""
    lines = chat_lines(stream=False)
    for number, one in enumerate(lines):
        one["request"]["headers"] = {**HEADERS, "traceparent": f"00-{'ab' * 16}-{number:016x}-01"}
        if one["request"]["body"]["messages"][1]["content"] == TRAINS:
            one["request"]["body"]["messages"][1]["content"] = "Trains, please."
    rows, found = traced(lines)
    assert found == (ROOT, [("Trains, please.", "same-trace", 0.5)])
    for seed, size in itertools.product(range(12), (1, 3)):
        others, same = traced(lines, seed, size)
        assert same == found
        assert story.row_differences(rows, others) == []


def traced(lines: list[Line], seed: int | None = None, size: int = 3) -> tuple[Any, Any]:
    seen = [tuple(story.observe(one)) for one in lines]
    store, questions = story.told(story.shuffled(seen, seed) if seed is not None else seen, size)
    tree = questions.tree(next(task["id"] for task in questions.tasks(roots=True)["items"] if task["prompt"] == ROOT))
    return story.rows(store), (tree["prompt"], [(one["prompt"], one["link"]["rule"], one["link"]["certainty"]) for one in tree["children"]])


SAID = Said("Look at this.", (("call_1", "look", {"at": "the sea", "n": 3}),), "Hm.")


@pytest.mark.parametrize("api", [CHAT, RESPONSES])
def test_a_stream_cut_anywhere_is_read_as_far_as_it_goes(api: Any) -> None:
    events = [*chat_pieces("c", "m", SAID), "[DONE]"] if api is CHAT else response_events(response_body("r", "m", output_items("r", SAID)))
    raw = sse(events).encode()
    longest = 0
    for end in range(0, len(raw), 7):
        answer = api.streamed(raw[:end])
        text = "".join(block["text"] for block in answer.blocks if block["type"] == "text")
        assert SAID.text.startswith(text)
        longest = max(longest, len(text))
        assert answer.complete is (answer.stop_reason != "")
    assert longest == len(SAID.text)


@settings(deadline=None, max_examples=200)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(("role", "type", "content", "tool_calls", "function", "id", "index", "delta", "choices", "output", "item", "response", "usage", "text",
                         "arguments", "summary", "error", "call_id", "input", "messages")), inner, max_size=5),
    max_leaves=30))  # fmt: skip
def test_nothing_that_is_json_makes_them_raise(value: Any) -> None:
    raw = json.dumps(value).encode()
    for api in (CHAT, RESPONSES):
        api.part(raw)
        api.whole(raw)
        api.streamed(b"data: " + raw + b"\n\n")
        api.read(raw)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 9), st.sampled_from(("text", "input")))
def test_no_cut_hides_a_secret(width: int, where: str) -> None:
    secret = "sk-ant-api03-" + "aB3dE5gH7j" * 8
    said = Said(f"Take {secret} and go.") if where == "text" else Said("", (("call_1", "run", {"command": f"export KEY={secret}"}),))
    for events in (cut_chat(said, width), cut_response(said, width)):
        clean = redact_sse(sse(events).encode())
        api = CHAT if "choices" in events[0] else RESPONSES
        assert secret not in json.dumps(api.streamed(clean).blocks)
        assert "[redacted:" in json.dumps(api.streamed(clean).blocks)
        pieces = [json.loads(one.removeprefix("data: ")) for one in clean.decode().split("\n\n") if one and "[DONE]" not in one]
        assert secret not in "".join(strings(pieces))


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in strings(one)]


def cut_chat(said: Said, width: int) -> list[Any]:
    def piece(delta: Line) -> Line:
        return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    found = [piece({"content": said.text[at : at + width]}) for at in range(0, len(said.text), width)]
    for index, (id, name, arguments) in enumerate(said.tools):
        raw = json.dumps(arguments)
        found.append(piece({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}))
        found += [piece({"tool_calls": [{"index": index, "function": {"arguments": raw[at : at + width]}}]}) for at in range(0, len(raw), width)]
    return [*found, {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"]


def cut_response(said: Said, width: int) -> list[Any]:
    """Cut before its end, which would repeat everything in one piece."""
    whole = response_body("r", "m", output_items("r", said))
    found: list[Any] = []
    for event in response_events(whole):
        text = event.get("delta")
        if isinstance(text, str):
            found += [{**event, "delta": text[at : at + width]} for at in range(0, len(text), width)]
        elif not event["type"].endswith((".done", ".completed")):
            found.append(event)
    return found


def test_paths_tell_the_apis_apart() -> None:
    names = {path: getattr(api_of(path), "name", None) for path in (
        "/v1/messages", "/v1/messages?beta=true", "/v1/messages/count_tokens", "/v1/chat/completions", "/api/v1/chat/completions?x=1", "/v1/responses",
        "/v1/responses/resp_1", "/v1/models", "/v1/messages/batches",
    )}  # fmt: skip
    assert names == {
        "/v1/messages": "messages", "/v1/messages?beta=true": "messages", "/v1/messages/count_tokens": "messages", "/v1/chat/completions": "chat",
        "/api/v1/chat/completions?x=1": "chat", "/v1/responses": "responses", "/v1/responses/resp_1": None, "/v1/models": None, "/v1/messages/batches": None,
    }  # fmt: skip
