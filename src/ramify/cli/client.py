"""A running server, asked over HTTP. Loopback goes straight there: no proxy of the environment is used."""

import json
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ramify.model.mistake import UserMistake
from ramify.query.service import NotFound
from ramify.settings import Settings

ASK_TIMEOUT = 10.0
ACT_TIMEOUT = 180.0
SILENCE = 60.0  # a live feed that says nothing for so long, not even a comment, is taken for dead


class Unreachable(Exception):
    """No Ramify server answers there."""


class Event(NamedTuple):
    """One server-sent event; `id` is the log's sequence number."""

    id: str
    name: str
    body: str


class Server:
    def __init__(self, settings: Settings) -> None:
        self.address = settings.address
        self.token = settings.token

    def connect(self, timeout: float) -> HTTPConnection:
        return HTTPConnection(self.address.removeprefix("http://"), timeout=timeout)

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def get(self, path: str, headers: dict[str, str], timeout: float) -> HTTPResponse:
        try:
            connection = self.connect(timeout)
            connection.request("GET", path, headers=self.headers() | headers)
            return connection.getresponse()
        except (OSError, HTTPException) as problem:
            raise Unreachable(f"no Ramify server answers at {self.address}") from problem

    def ask(self, path: str, **parameters: object) -> Any:
        """The answer's JSON. A refusal of the server is told in its own words."""
        query = "?" + urlencode(parameters) if parameters else ""
        with self.get(f"/api/{path}{query}", {}, ASK_TIMEOUT) as response:
            status, body = response.status, response.read()
        answer = parsed(body)
        if status == 200 and answer is not None:
            return answer
        raise refusal(self.address, status, answer)

    def post(self, path: str, body: Any) -> Any:
        """An act of the server's; whoever it has to ask may take a while."""
        headers = self.headers() | {"content-type": "application/json"}
        try:
            connection = self.connect(ACT_TIMEOUT)
            connection.request("POST", f"/api/{path}", json.dumps(body).encode(), headers)
            with connection.getresponse() as response:
                status, answer = response.status, parsed(response.read())
        except (OSError, HTTPException) as problem:
            raise Unreachable(f"no Ramify server answers at {self.address}") from problem
        if status == 200 and answer is not None:
            return answer
        raise refusal(self.address, status, answer)

    def health(self) -> dict[str, Any] | None:
        """None where nothing answers, or something that is no Ramify."""
        try:
            with self.get("/api/health", {}, 2.0) as response:
                answer = parsed(response.read())
        except (Unreachable, OSError, HTTPException):
            return None
        return answer if isinstance(answer, dict) and "seq" in answer else None

    def live(self, last: str | None) -> Iterator[Event]:
        """Changes as they come, until the connection ends."""
        resume = {"last-event-id": last} if last is not None else {}
        with self.get("/api/live", {"accept": "text/event-stream"} | resume, SILENCE) as response:
            if response.status != 200:
                raise refusal(self.address, response.status, parsed(response.read()))
            try:
                yield from events(response)
            except (OSError, HTTPException) as problem:
                raise Unreachable(f"the server at {self.address} went away") from problem


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def refusal(address: str, status: int, answer: Any) -> Exception:
    error = answer.get("error") if isinstance(answer, dict) else None
    if status == 401 or (status == 403 and not isinstance(error, dict)):
        return UserMistake(f"the server at {address} wants a token", "give it with --token TEXT or RAMIFY_TOKEN")
    if status == 404 and isinstance(error, dict):
        return NotFound(str(error.get("message") or "nothing has this id"))
    if isinstance(error, dict):
        return UserMistake(str(error.get("message") or status), str(error.get("hint") or "see ramify doctor"))
    return UserMistake(f"{address} answered {status}, which no Ramify server does", "check --host and --port")


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Server-sent events, as the HTML standard reads them: comments pass, an empty line ends an event."""
    id, name, body = "", "", list[str]()
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if body:
                yield Event(id, name or "message", "\n".join(body))
            name, body = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            body.append(value)
        elif field == "event":
            name = value
        elif field == "id":
            id = value
