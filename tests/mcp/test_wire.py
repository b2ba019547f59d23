"""JSON-RPC in lines: every kind of rubbish has its answer, and none ends the session."""

import json
from typing import Any

import pytest

from ramify.mcp.wire import VERSIONS, BadParameters, Tools, serve

TOOLS = [{"name": "echo", "inputSchema": {"type": "object"}}]


def echo(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> tuple[str, bool]:
    if name != "echo":
        raise BadParameters(f"there is no tool {name!r}")
    return json.dumps([arguments, meta]), False


def talk(*lines: bytes) -> list[Any]:
    said: list[bytes] = []
    serve(lines, said.append, Tools(TOOLS, echo, {"serverInfo": {"name": "t", "version": "1"}}))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in said)
    return [json.loads(line) for line in said]


def asked(method: str, id: object = 1, **parameters: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}).encode()


def test_a_version_that_is_known_is_kept_and_another_is_answered_by_the_newest() -> None:
    for version in VERSIONS:
        (answer,) = talk(asked("initialize", protocolVersion=version))
        assert answer["result"]["protocolVersion"] == version
    (answer,) = talk(asked("initialize", protocolVersion="1999-01-01"))
    assert answer["result"]["protocolVersion"] == VERSIONS[0]


def test_tools_are_listed_and_called() -> None:
    listed, called = talk(asked("tools/list"), asked("tools/call", 2, name="echo", arguments={"a": 1}, _meta={"m": 2}))
    assert listed["result"]["tools"] == TOOLS
    assert called["id"] == 2
    assert called["result"] == {"content": [{"type": "text", "text": '[{"a": 1}, {"m": 2}]'}], "isError": False}


@pytest.mark.parametrize(("line", "code"), [
    (b"{", -32700), (b"\xff\xfe", -32700), (b"7", -32600), (b"{}", -32600), (b'{"method": 5, "id": 1}', -32600),
    (b"[" * 100_000, -32700), (b'"' + b"x" * (1 << 20) + b'"', -32600),
    (asked("resources/list"), -32601), (asked("server/discover"), -32601),
    (b'{"id": 1, "method": "ping", "params": [1]}', -32602), (asked("tools/call", name=5), -32602), (asked("tools/call", name="no"), -32602),
    (asked("tools/call", name="echo", arguments=[1]), -32602),
])  # fmt: skip
def test_what_cannot_be_answered_has_its_code_and_the_session_goes_on(line: bytes, code: int) -> None:
    wrong, right = talk(line, asked("ping", "next"))
    assert wrong["error"]["code"] == code
    assert right == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_notifications_answers_and_empty_lines_are_not_answered() -> None:
    assert talk(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', b"\n", b'{"id": 4, "result": {}}') == []


def test_a_batch_is_answered_as_one() -> None:
    (answers,) = talk(b"[" + asked("ping", 1) + b',{"method": "notifications/x"},' + asked("ping", 2) + b"]")
    assert [one["id"] for one in answers] == [1, 2]
