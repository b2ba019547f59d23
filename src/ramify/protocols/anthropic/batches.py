"""Message batches: many requests in one body, and later a line for each answer. Each is cut out as an exchange of its own.

The answer to what made a batch names it, so that its requests are known from then on. A line of results names its request by
the batch and `custom_id` alone: it is known as the same whether the batch was seen to be made before, afterwards or never.
"""

import re
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Outcome, Request, Response
from ramify.protocols.anthropic.decode import BATCH, plain_body

MADE = re.compile(r"/v1/messages/batches(?:\?|$)")
RESULTS = re.compile(r"/v1/messages/batches/([^/?]+)/results(?:\?|$)")


class Asked(Struct):
    custom_id: str
    params: Raw


class Outcomes(Struct):
    type: str = ""
    message: Raw = Raw(b"")
    error: Raw = Raw(b"")


class Line(Struct):
    custom_id: str
    result: Outcomes


class Made(Struct):
    requests: list[Raw] = []


class Named(Struct):
    id: str = ""
    type: str = ""


_asked = msgspec.json.Decoder(Asked)
_line = msgspec.json.Decoder(Line)
_made = msgspec.json.Decoder(Made)
_named = msgspec.json.Decoder(Named)
BAD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def batch_of(seen: Observation) -> str:
    """The batch that this answer made, or of which it has the results; empty for all else."""
    if not isinstance(seen, Response) or "/messages/batches" not in seen.path or not 200 <= seen.status < 300:
        return ""
    if found := RESULTS.search(seen.path):
        return found.group(1)
    if not MADE.search(seen.path):
        return ""
    try:
        named = _named.decode(plain_body(seen.body, seen.headers))
    except BAD:
        return ""
    return named.id if named.type == "message_batch" else ""  # a list of batches stands at the same address


def entries(asked: Request | None, seen: Response) -> list[Observation]:
    """The requests that made a batch, or the answers to them, each as if it had come by itself. Lines that cannot be read
    tell nothing: they stay where they were seen."""
    batch = batch_of(seen)
    if not batch:
        return []
    if RESULTS.search(seen.path):
        return [found for line in plain_body(seen.body, seen.headers).splitlines() if (found := _answer(seen, batch, line))]
    return _requests(asked, batch) if asked is not None and asked.method == "POST" else []


def _requests(made: Request, batch: str) -> list[Observation]:
    try:
        raws = _made.decode(plain_body(made.body, made.headers)).requests
    except BAD:
        return []
    headers = tuple(pair for pair in made.headers if pair[0].lower() not in ("content-encoding", "content-length"))
    found: list[Observation] = []
    for raw in raws:
        try:
            one = _asked.decode(raw)
        except BAD:
            continue
        found.append(
            Request(
                _request_id(made.project, batch, one.custom_id), made.project, made.at, BATCH, f"{batch}/{one.custom_id}",
                "POST", _path(batch, one.custom_id), headers, bytes(one.params), made.credential,
            )
        )  # fmt: skip
    return found


def _answer(seen: Response, batch: str, raw: bytes) -> Response | None:
    """Its headers are those of all lines: the `request-id` among them is that of fetching the results."""
    try:
        line = _line.decode(raw)
    except BAD:
        return None
    outcome, body, error = _outcome(line.result)
    request = _request_id(seen.project, batch, line.custom_id)
    return Response(
        observation_id("batch-result", request), seen.project, seen.at, BATCH, request, _path(batch, line.custom_id),
        seen.status, (), body, outcome, 0, error,
    )  # fmt: skip


def _outcome(result: Outcomes) -> tuple[Outcome, bytes, str]:
    match result.type:
        case "succeeded":
            return "complete", bytes(result.message), ""
        case "errored":
            return "complete", _error(bytes(result.error)), ""
        case "canceled":
            return "aborted", b"", "the batch was canceled before this was sent"
        case "expired":
            return "failed", b"{}", "the batch expired before this was sent"
        case other:
            return "failed", b"{}", f"result of a batch: {other}"


def _error(body: bytes) -> bytes:
    """Whatever it looks like, it is one."""
    return body if body.lstrip().startswith(b"{") and b'"error"' in body else b'{"type":"error","error":%b}' % (body or b"null")


def _path(batch: str, custom_id: str) -> str:
    return f"/v1/messages?batch={quote(batch, safe='')}&custom_id={quote(custom_id, safe='')}"


def _request_id(project: str, batch: str, custom_id: str) -> str:
    return observation_id("batch-request", project, batch, custom_id)
