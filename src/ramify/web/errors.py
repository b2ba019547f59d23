"""Errors by blame: the asker's are explained to the asker; ours are said to be ours, and the log explains."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from ramify.model.mistake import Conflict, NotYours, UserMistake
from ramify.model.mistake import Refused as AgentRefused
from ramify.query.filter import BadFilter
from ramify.query.service import Ambiguous, BadQuestion, NotFound
from ramify.storage.base import StoreDown
from ramify.web.served import CAPTURED, Serve

log = logging.getLogger("ramify.web")

WHERE = "See /api/openapi.json for every path"


class Refused(Exception):
    """A request that is not let through: the status, and what to do about it."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint


def failure(
    status: int, code: str, message: str, hint: str, more: Mapping[str, Any] | None = None
) -> web.Response:
    error = {"code": code, "message": message, "hint": hint, **(more or {})}
    response = web.Response(
        status=status, body=msgspec.json.encode({"error": error}), content_type="application/json"
    )
    if status == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def explained(error: Exception) -> web.Response | None:
    """The answer to the asker's own mistake; None when it is not one."""
    match error:
        case Refused():
            return failure(error.status, error.code, error.message, error.hint)
        case NotFound():
            return failure(
                404, "not_found", said(error), error.hint or "Check the id; any id of its own protocol works, too"
            )
        case Ambiguous():
            hint = "Use one of the candidates' ids, or the exact form protocol:kind:value"
            return failure(409, "ambiguous", said(error), hint, {"candidates": error.candidates})
        case Conflict():
            return failure(409, "conflict", error.message, error.hint)
        case NotYours():
            return failure(403, "foreign_project", error.message, error.hint)
        case AgentRefused():
            return failure(502, "agent_refused", error.message, error.hint)
        case UserMistake():
            return failure(400, "bad_request", error.message, error.hint)
        case StoreDown():
            return failure(503, "store_away", f"The store cannot be read: {said(error)}", "Try again; ramify doctor says more")
        case BadFilter():
            place = {"word": error.word, "start": error.start, "end": error.end}
            return failure(400, "bad_filter", f"{error.word!r}: {error.problem}", error.hint, place)
        case BadQuestion():
            return failure(400, "bad_request", said(error), "Correct the value and ask again")
    return None


def said(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__


@web.middleware
async def errors(request: web.Request, handler: Serve) -> web.StreamResponse:  # the name is aiohttp's
    try:
        return await handler(request)
    except web.HTTPException as error:
        if not request.path.startswith("/api"):
            raise
        return routing_failure(request, error)
    except Exception as error:
        response = explained(error)
        if response is None and request.match_info.route in request.app[CAPTURED]:
            raise  # part of the upstream's answer may be out already
        if response is None:
            # The path only: a query may hold what somebody searched for.
            log.exception("request failed method=%s path=%s", request.method, request.path)
            response = failure(
                500, "bug", "Ramify failed to answer this", "This is our bug; the log says more"
            )
        return response


def routing_failure(request: web.Request, error: web.HTTPException) -> web.Response:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        response = failure(
            405, "method_not_allowed", f"{request.method} is not known at {request.path}", f"Use {allowed}"
        )
        response.headers["allow"] = allowed
        return response
    if error.status == 404:
        return failure(404, "not_found", f"There is nothing at {request.path}", WHERE)
    return failure(error.status, "bad_request", error.reason, WHERE)
