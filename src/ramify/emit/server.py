"""Events to a running server, over HTTP: batches to `POST /api/events`, each as often as it takes.

Each event has its id, so that a batch that arrives twice is stored once.
"""

import json
import logging
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.cookies import CookieError, SimpleCookie
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ramify.emit.item import Emitted
from ramify.emit.subscription import Away

log = logging.getLogger("ramify")
SECONDS = 10.0
EVENTS = "/api/events"
SESSION, COOKIE = "X-Ramify-Session", "ramify_session"
LATER = (401, 403, 404, 408, 425, 429)  # another token, an older server, too much at once: it may be put right
BAD, TOO_LARGE = 400, 413


class Answer(NamedTuple):
    status: int
    body: bytes
    session: str | None


class ServerSink:
    """The session is the context's (`ramify.session`), else the one given here, else one that the server gives."""

    batch, batch_bytes = 200, 2 * 2**20

    def __init__(self, address: str, *, token: str | None = None, session: str | None = None, seconds: float = SECONDS) -> None:
        self.address = address
        self.stored = self.duplicates = self.rejected = 0
        self._place = urlsplit(address)
        if self._place.scheme not in ("http", "https") or not self._place.hostname:
            raise ValueError(f"{address!r} is no address of a server; write http://HOST:PORT")
        self._token = token
        self._session = session
        self._seconds = seconds
        self._given: dict[str | None, str] = {}  # a server takes over no name that it did not give, and gives another

    @property
    def session(self) -> str | None:
        """What to send as `X-Ramify-Session` to read these events; None until the first were stored."""
        return self._given.get(self._session, self._session)

    def deliver(self, batch: Sequence[Emitted]) -> None:
        for session, items in groupby(batch, lambda item: item.scope.session or self._session):
            self._send(session, list(items))

    def settle(self, seconds: float) -> bool:
        return True

    def stats(self) -> dict[str, Any]:
        return {"stored": self.stored, "duplicates": self.duplicates, "rejected": self.rejected}

    def renew(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _send(self, session: str | None, items: list[Emitted]) -> None:
        answer = self._post(self._given.get(session, session), b'{"events":[' + b",".join(item.body for item in items) + b"]}")
        if answer.session:
            self._given[session] = answer.session
        if len(items) > 1 and is_about_the_whole(answer):
            self._send(session, items[: len(items) // 2])
            self._send(session, items[len(items) // 2 :])
        elif answer.status in LATER or answer.status >= 500:
            raise Away(f"the server at {self.address} answers {answer.status}")
        elif 200 <= answer.status < 300 or data_of(answer.body):
            self._count(answer.body, len(items))
        else:
            self._reject(len(items), f"{answer.status} {answer.body[:200]!r}")

    def _count(self, body: bytes, sent: int) -> None:
        told = data_of(body)
        rejected, duplicates = number(told, "rejected"), number(told, "duplicates")
        self.duplicates += duplicates
        self.stored += max(0, sent - rejected - duplicates - number(told, "conflicts"))
        if rejected:
            self._reject(rejected, reason(told))

    def _reject(self, count: int, why: str) -> None:
        if not self.rejected:
            log.warning("the server at %s rejects events: %s", self.address, why)
        self.rejected += count

    def _post(self, session: str | None, body: bytes) -> Answer:
        connect = HTTPSConnection if self._place.scheme == "https" else HTTPConnection
        headers = {"Content-Type": "application/json"}
        if session is not None:
            headers[SESSION] = session
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        connection = connect(self._place.netloc.rpartition("@")[2], timeout=self._seconds)
        try:
            connection.request("POST", self._place.path.rstrip("/") + EVENTS, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read(), given_session(response.headers.get_all("Set-Cookie") or []))
        except (OSError, HTTPException, ValueError) as problem:
            raise Away(f"no server answers at {self.address} ({type(problem).__name__})") from problem
        finally:
            connection.close()


def given_session(cookies: list[str]) -> str | None:
    for cookie in cookies:
        try:
            found = SimpleCookie(cookie).get(COOKIE)
        except CookieError:
            continue
        if found is not None:
            return found.value
    return None


def is_about_the_whole(answer: Answer) -> bool:
    """Too much at once, or not understood: one event among them may be the reason, and the others are sent without it."""
    return answer.status == TOO_LARGE or (answer.status == BAD and not data_of(answer.body))


def data_of(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
        inner = told["data"]
    except (ValueError, LookupError, TypeError):
        return {}
    return inner if isinstance(inner, dict) else {}


def number(told: dict[str, Any], name: str) -> int:
    found = told.get(name)
    return found if isinstance(found, int) else 0


def reason(told: dict[str, Any]) -> str:
    results = told.get("results")
    rows = [row for row in results if isinstance(row, dict)] if isinstance(results, list) else []
    return next((str(row.get("reason"))[:200] for row in rows if row.get("status") == "rejected"), "no reason given")
