"""What an agent is asked, in the version and the binding that it offers. Pure: ids are given."""

from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ramify.capture.a2a_client.offer import Offer

HISTORY = 1000
"""Messages that a task is read with: between two looks several may have passed."""
METHODS = {
    "get": ("tasks/get", "GetTask"),
    "cancel": ("tasks/cancel", "CancelTask"),
    "subscribe": ("tasks/resubscribe", "SubscribeToTask"),
    "list": ("", "ListTasks"),
    "send": ("message/send", "SendMessage"),
    "stream": ("message/stream", "SendStreamingMessage"),
}
PATHS = {
    "get": ("GET", "/tasks/{id}"),
    "cancel": ("POST", "/tasks/{id}:cancel"),
    "subscribe": ("GET", "/tasks/{id}:subscribe"),
    "list": ("GET", "/tasks"),
    "send": ("POST", "/message:send"),
    "stream": ("POST", "/message:stream"),
}
LOOKS = frozenset(("get", "subscribe", "list", "card"))
_encode = msgspec.json.Encoder().encode


class Question(Struct, frozen=True):
    kind: str
    method: str
    url: str
    body: bytes = b""
    query: dict[str, str] = {}
    version: str = ""

    @property
    def is_look(self) -> bool:
        """It only sees how things stand: no client's act, and recorded as none."""
        return self.kind in LOOKS


class Said(Struct, frozen=True):
    """What is sent to an agent: words, or data that a form asked for. With a task it goes on with that one."""

    id: str
    text: str = ""
    data: Any = None
    task: str = ""
    context: str = ""


def ask(offer: Offer, call: str, kind: str, task: str = "", **parameters: Any) -> Question:
    """About tasks: `get`, `cancel`, `subscribe`, `list`. `call` is the id of the question itself."""
    if kind == "get":
        parameters["historyLength"] = HISTORY
    if offer.binding == "JSONRPC":
        return _call(offer, call, kind, ({"id": task} if task else {}) | parameters)
    method, path = PATHS[kind]
    place = _below(offer, path.replace("{id}", quote(task, safe="")))
    if method == "POST":
        return Question(kind, method, place, b"{}", {}, offer.version)
    return Question(kind, method, place, b"", {name: _plain(value) for name, value in parameters.items()}, offer.version)


def say(offer: Offer, call: str, kind: str, said: Said) -> Question:
    """`send` does not wait for the work to be done; `stream` hears of it as it goes on."""
    configuration: dict[str, Any] = {}
    if kind == "send":
        configuration = {"returnImmediately": True} if offer.version == "1.0" else {"blocking": False}
    params: dict[str, Any] = {"message": _message(offer, said)}
    if configuration:
        params["configuration"] = configuration
    if offer.binding == "JSONRPC":
        return _call(offer, call, kind, params)
    method, path = PATHS[kind]
    return Question(kind, method, _below(offer, path), _encode(params), {}, offer.version)


def _call(offer: Offer, call: str, kind: str, params: dict[str, Any]) -> Question:
    if offer.tenant:
        params = {"tenant": offer.tenant, **params}
    body = {"jsonrpc": "2.0", "id": call, "method": METHODS[kind][offer.version == "1.0"], "params": params}
    return Question(kind, "POST", offer.url, _encode(body), {}, offer.version)


def _below(offer: Offer, path: str) -> str:
    lead = "/v1" if offer.version == "0.3" else f"/{quote(offer.tenant, safe='')}" if offer.tenant else ""
    return offer.url.rstrip("/") + lead + path


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _message(offer: Offer, said: Said) -> dict[str, Any]:
    old, rest = offer.version == "0.3", offer.binding == "HTTP+JSON"
    message: dict[str, Any] = {"messageId": said.id, "role": "user" if old and not rest else "ROLE_USER"}
    if old and not rest:
        message["kind"] = "message"
    message["content" if old and rest else "parts"] = [_part(old, rest, said)]
    return message | {name: value for name, value in (("taskId", said.task), ("contextId", said.context)) if value}


def _part(old: bool, rest: bool, said: Said) -> dict[str, Any]:
    if said.data is None:
        return {"kind": "text", "text": said.text} if old and not rest else {"text": said.text}
    if old and rest:
        return {"data": {"data": said.data}}
    return {"kind": "data", "data": said.data} if old else {"data": said.data}
