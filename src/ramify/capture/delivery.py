"""Records to a running server, over HTTP. Loopback goes straight there: no proxy of the environment is used."""

import json
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from ramify.capture.outbox import Away
from ramify.model.observation import Record
from ramify.model.reported import encode_records

SECONDS = 5.0
RECORDS, HOOKS, HEALTH = "/api/records", "/api/hooks/claude", "/api/health"
UNWELCOME = (401, 403, 404)  # another token, another name, an older server: it may be put right


class ServerAt:
    """A server that takes records. What was sent and answered with 200 is the server's care."""

    def __init__(self, address: str, token: str | None, seconds: float = SECONDS) -> None:
        self.address = address
        self._token = token
        self._seconds = seconds

    def send(self, batch: Sequence[Record]) -> None:
        self._post(RECORDS, encode_records(batch))

    def settle(self, seconds: float) -> bool:
        return True

    def send_hook(self, body: bytes) -> None:
        self._post(HOOKS, body)

    def store(self) -> str | None:
        """The store that it writes to; None where no server of ours answers, or not to us."""
        found = self._health().get("store")
        return found if isinstance(found, str) else None

    def agents(self) -> dict[str, str]:
        """The A2A agents that were named when it was started, and their addresses."""
        found = self._health().get("agents")
        pairs = found.items() if isinstance(found, dict) else ()
        return {name: url for name, url in pairs if isinstance(url, str)}

    def _health(self) -> dict[str, Any]:
        try:
            status, body = self._ask("GET", HEALTH, None)
        except Away:
            return {}
        answer = parsed(body) if status == 200 else None
        return answer if isinstance(answer, dict) else {}

    def _post(self, path: str, body: bytes) -> None:
        status, answer = self._ask("POST", path, body)
        if status in UNWELCOME or status >= 500:
            raise Away(f"the server at {self.address} answers {status}")
        if status != 200:
            raise ValueError(f"the server at {self.address} answers {status}: {answer[:200]!r}")

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        place = urlsplit(self.address)
        connect = HTTPSConnection if place.scheme == "https" else HTTPConnection
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        if body is not None:
            headers["content-type"] = "application/json"
        connection = connect(place.netloc, timeout=self._seconds)
        try:
            connection.request(method, place.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, HTTPException, ValueError) as problem:
            raise Away(f"no server answers at {self.address} ({type(problem).__name__})") from problem
        finally:
            connection.close()


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
