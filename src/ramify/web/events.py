"""The event log over HTTP: every answer is `{"success", "data", "timestamp"}`, and about the caller's session alone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from aiohttp import web

from ramify.model.mistake import NotYours, UserMistake
from ramify.model.moment import iso
from ramify.storage.base import StoreDown
from ramify.web.errors import Refused
from ramify.web.event_questions import OPERATIONS, check_names, number, read_events
from ramify.web.event_sessions import Caller
from ramify.web.guard import project_brought
from ramify.web.served import IDENTITY, EventLog, Seen, Serve, seen

log = logging.getLogger("ramify.web")
WRITERS: web.AppKey[ThreadPoolExecutor] = web.AppKey("event-writers")
THREADS = 32  # each waits for a commit
LARGEST = 32 * 2**20
JSON, LINES = "application/json", ("application/x-ndjson", "application/jsonl", "application/ndjson")
SEND = 'Send one event, an array of them, {"events": […]}, or one a line as application/x-ndjson'
Answer = Callable[[web.Request, EventLog, str], Awaitable[dict[str, Any]]]


class Reply(Exception):
    """An answer whose status is not the usual one."""

    def __init__(self, status: int, data: dict[str, Any]) -> None:
        super().__init__(status)
        self.status = status
        self.data = data


def answering(answer: Answer) -> Serve:
    async def serve(request: web.Request) -> web.StreamResponse:
        ramify = seen(request)
        named = request.match_info.get("session")  # only in addresses of the operator
        caller = Caller(request, ramify.session_secret)
        status, body = await answered(answer, request, ramify, named or caller.session)
        response = web.Response(status=status, body=msgspec.json.encode(body), content_type=JSON)
        response.headers["cache-control"] = "no-store"
        if not named:
            caller.tell(response)
        return response

    return serve


def log_of(request: web.Request) -> EventLog:
    """The log of one project. Whoever sees all of them has the server's own."""
    ramify, identity = seen(request), request[IDENTITY]
    return ramify.events_of(ramify.project if identity.projects is None else project_brought(request, identity, ramify.project))


async def answered(answer: Answer, request: web.Request, ramify: Seen, session: str) -> tuple[int, dict[str, Any]]:
    at = {"timestamp": iso(ramify.clock())}
    try:
        return 200, {"success": True, "data": await answer(request, log_of(request), session), **at}
    except Reply as reply:
        return reply.status, {"success": reply.status < 400, "data": reply.data, **at}
    except Exception as problem:
        status, error = failure(problem, request)
        return status, {"success": False, "error": error, **at}


def failure(problem: Exception, request: web.Request) -> tuple[int, dict[str, str]]:
    match problem:
        case Refused():
            return problem.status, {"code": problem.code, "message": problem.message, "hint": problem.hint}
        case NotYours():
            return 403, {"code": "foreign_project", "message": problem.message, "hint": problem.hint}
        case UserMistake():
            return 400, {"code": "bad_request", "message": problem.message, "hint": problem.hint}
        case StoreDown():
            return 503, {"code": "store_away", "message": f"The store does not take it: {problem}", "hint": "Send the same again later"}
    log.error("request failed method=%s path=%s", request.method, request.path, exc_info=problem)
    return 500, {"code": "bug", "message": "Ramify failed to answer this", "hint": "This is our bug; the log says more"}


async def writers(app: web.Application) -> Any:
    app[WRITERS] = ThreadPoolExecutor(THREADS, thread_name_prefix="events")
    yield
    app[WRITERS].shutdown(wait=False, cancel_futures=True)


async def aside(request: web.Request, act: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(request.app[WRITERS], act, *arguments)


# -- questions ---------------------------------------------------------------------------------------------------------


@answering
async def listed(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    found: dict[str, Any] = await aside(request, events.get_events, session, read_events(request.query))
    return found


@answering
async def operations(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    check_names(request.query, {"limit": OPERATIONS})
    return {"operations": await aside(request, events.get_operations, session, number(request.query, OPERATIONS) or 50)}


@answering
async def operation(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    found: dict[str, Any] = await aside(request, events.get_operation, session, request.match_info["id"])
    return found


@answering
async def info(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    found: dict[str, Any] = await aside(request, events.session_info, session)
    return found


# -- acts --------------------------------------------------------------------------------------------------------------


@answering
async def cleared(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    return {"deleted": await aside(request, events.clear_session, session)}


@answering
async def posted(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    given = read_body(await whole_body(request, LARGEST), request.content_type)
    outcomes = await aside(request, events.append_many, session, given)
    counts = {word: sum(one.status == word for one in outcomes) for word in ("stored", "duplicate", "conflict", "rejected")}
    data = {
        "stored": counts["stored"],
        "duplicates": counts["duplicate"],
        "conflicts": counts["conflict"],
        "rejected": counts["rejected"],
        "results": [msgspec.structs.asdict(one) for one in outcomes],
    }
    if not counts["stored"] and not counts["duplicate"]:
        raise Reply(400, data)
    return data


@answering
async def reconciled(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    return await seen(request).reconcile_session(session, events.project)


@answering
async def reconciled_all(request: web.Request, events: EventLog, session: str) -> dict[str, Any]:
    return await seen(request).reconcile_session(None, events.project)


async def whole_body(request: web.Request, largest: int) -> bytes:
    body = bytearray()
    async for piece in request.content.iter_chunked(64 * 1024):
        body += piece
        if len(body) > largest:
            raise Refused(413, "too_large", f"The body is larger than {largest} bytes", "Send it in smaller parts")
    return bytes(body)


def read_body(body: bytes, kind: str) -> Sequence[object]:
    if kind in LINES:
        return [read_line(line) for line in body.splitlines() if line.strip()]
    if kind != JSON:
        raise UserMistake(f'The content type is "{kind}"', "Send the header content-type: application/json")
    try:
        given = msgspec.json.decode(body)
    except (ValueError, RecursionError) as problem:
        raise UserMistake(f"The body is no JSON: {problem}", SEND) from None
    if isinstance(given, dict) and isinstance(given.get("events"), list):
        given = given["events"]
    return given if isinstance(given, list) else [given]


def read_line(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return line.decode("utf-8", "replace")  # no object: rejected with its reason
