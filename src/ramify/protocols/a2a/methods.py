"""What a request asks for: a JSON-RPC method of either version, or a path of the HTTP binding."""

import re
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from ramify.protocols.a2a.wire import Shape, items, shape, text

METHODS = {
    "message/send": "send", "SendMessage": "send", "tasks/send": "send",
    "message/stream": "stream", "SendStreamingMessage": "stream", "tasks/sendSubscribe": "stream",
    "tasks/get": "get", "GetTask": "get",
    "tasks/cancel": "cancel", "CancelTask": "cancel",
    "tasks/resubscribe": "subscribe", "SubscribeToTask": "subscribe",
    "tasks/list": "list", "ListTasks": "list",
    "agent/getAuthenticatedExtendedCard": "card", "GetExtendedAgentCard": "card",
}  # fmt: skip
SENDS = ("send", "stream")
PATHS = (
    (re.compile(r"/message:send$"), "send"),
    (re.compile(r"/message:stream$"), "stream"),
    (re.compile(r"/tasks/([^/]+):cancel$"), "cancel"),
    (re.compile(r"/tasks/([^/]+):subscribe$"), "subscribe"),
    (re.compile(r"/tasks/([^/]+)$"), "get"),
    (re.compile(r"/tasks$"), "list"),
    (re.compile(r"/(?:extendedAgentCard|v1/card|\.well-known/agent(?:-card)?\.json)$"), "card"),
)
OLD_REST = re.compile(r"/v1/(?:message:|tasks(?:/|$)|card$)")


class Asked(Struct, frozen=True):
    """`method` is ours, or empty for what says nothing about tasks (push configurations, unknown methods)."""

    method: str = ""
    task: str = ""
    message: Any = None
    metadata: Any = None
    old: bool = False  # 0.3 over HTTP+JSON


def asked_of(path: str, body: Any, version: str = "") -> Asked:
    called = shape(body)
    if isinstance(called.get("method"), str) and ("params" in called or "jsonrpc" in called):
        return _by_method(called)
    return _by_path(path.split("?", 1)[0], called, version)


def _by_method(called: Shape) -> Asked:
    params = shape(called.get("params"))
    method = METHODS.get(called["method"], "")
    if method not in SENDS:
        return Asked(method, text(params.get("id")))
    message = params.get("message")
    return Asked(method, text(shape(message).get("taskId")), message, params.get("metadata"))


def _by_path(path: str, body: Shape, version: str) -> Asked:
    old = bool(OLD_REST.search(path)) and not version.startswith("1")
    for pattern, method in PATHS:
        found = pattern.search(path)
        if found and method in SENDS:
            message = body.get("message") or body.get("request")
            old = old or bool(items(shape(message).get("content")))
            return Asked(method, text(shape(message).get("taskId")), message, body.get("metadata"), old)
        if found:
            return Asked(method, unquote(found[1]) if found.groups() else "", old=old)
    return Asked(old=old)
