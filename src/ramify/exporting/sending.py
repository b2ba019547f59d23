"""Spans to an OTLP endpoint over HTTP: packed, tried again where that may help, and refusals said as they are."""

import gzip
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

from ramify.exporting.otlp import to_protobuf
from ramify.exporting.span import Span
from ramify.model.mistake import UserMistake

TRACES = "/v1/traces"
AGAIN = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
SECONDS = 10.0
LONGEST_PAUSE = 30.0
MOST_SAID = 300
HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")


class Refused(Exception):
    """The endpoint does not want this, and will not want it later."""


class Away(Exception):
    """The endpoint cannot take this now; `pause` is how long it asks to be left alone, in seconds."""

    def __init__(self, problem: str, pause: float = 0.0) -> None:
        super().__init__(problem)
        self.pause = pause


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET, without the spans."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Endpoint:
    def __init__(self, address: str, environment: Mapping[str, str]) -> None:
        self.url = traces_url(address)
        self._headers = {**headers_of(environment), "content-type": "application/x-protobuf", "content-encoding": "gzip"}
        self._open = urllib.request.build_opener(NoRedirect).open

    def send(self, spans: Sequence[Span]) -> tuple[int, str]:
        """Once. How many of the spans were rejected, and the endpoint's words about that."""
        body = gzip.compress(to_protobuf(spans), 1, mtime=0)
        request = urllib.request.Request(self.url, body, self._headers, method="POST")
        try:
            with self._open(request, timeout=SECONDS) as answer:
                protobuf = "protobuf" in (answer.headers.get("content-type") or "")
                return rejected(answer.read(1 << 20)) if protobuf else (0, "")
        except urllib.error.HTTPError as error:
            with error:
                words = f"{self.url} answered {error.code} {error.reason}: {said(error)}".rstrip(": ")
                if error.code in AGAIN:
                    raise Away(words, pause_of(error.headers.get("retry-after"))) from None
                raise Refused(words) from None
        except (OSError, ValueError) as error:  # no connection, no answer in time, an answer that is no HTTP
            raise Away(f"{self.url} cannot be reached: {getattr(error, 'reason', error)}") from None

    def deliver(self, spans: Sequence[Span], attempts: int = 5) -> tuple[int, str]:
        """For somebody who waits: tried a few times, then it is their turn."""
        pause = 0.5
        for attempt in range(attempts):
            try:
                return self.send(spans)
            except Refused as problem:
                raise UserMistake(str(problem), "check the address, and OTEL_EXPORTER_OTLP_HEADERS for what it wants to know") from None
            except Away as problem:
                if attempt + 1 == attempts:
                    raise UserMistake(str(problem), "nothing is sent twice by trying again: ids stay the same") from None
                time.sleep(min(max(pause, problem.pause), LONGEST_PAUSE))
                pause *= 2
        raise AssertionError("unreachable")


def traces_url(address: str) -> str:
    """An address is a base, as OTEL_EXPORTER_OTLP_ENDPOINT is, unless it names the path itself."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise UserMistake(f"{address!r} is no address of an OTLP endpoint", "write http://host:port; names and keys go into OTEL_EXPORTER_OTLP_HEADERS")
    return address if parts.path.endswith(TRACES) else address.rstrip("/") + TRACES


def headers_of(environment: Mapping[str, str]) -> dict[str, str]:
    """As every exporter reads them: `name=value,name=value`, percent-encoded."""
    text = next((environment[name] for name in HEADERS if environment.get(name)), "")
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}


def pause_of(text: str | None) -> float:
    return min(float(text), LONGEST_PAUSE) if text and text.isascii() and text.isdigit() else 0.0


def said(error: urllib.error.HTTPError) -> str:
    """Its own words, as far as they are any: some answer in protobuf."""
    text = error.read(MOST_SAID).decode("utf-8", "replace")
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def rejected(body: bytes) -> tuple[int, str]:
    """`partial_success` (1) of the answer: `rejected_spans` (1) and `error_message` (2)."""
    partial = next((value for field, value in fields(body) if field == 1 and isinstance(value, bytes)), b"")
    found = dict(fields(partial))
    count, words = found.get(1, 0), found.get(2, b"")
    return count if isinstance(count, int) else 0, words.decode("utf-8", "replace")[:MOST_SAID] if isinstance(words, bytes) else ""


def fields(body: bytes) -> list[tuple[int, int | bytes]]:
    """Of a protobuf message, numbers and parts. What is broken ends it: the status said already that all is well."""
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(body):
        key, at = varint(body, at)
        value, at = varint(body, at)
        if key & 7 == 2:
            found.append((key >> 3, body[at : at + value]))
            at += value
        elif key & 7 == 0:
            found.append((key >> 3, value))
        else:
            break
    return found


def varint(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(body):
        byte = body[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return number, at
