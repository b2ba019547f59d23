"""Where agents push the states of their tasks: `POST /webhook/{task_type}/{agent_id}/{operation_id}`.

The answer comes after the commit, so that a sender that hears nothing may safely send again. What nobody vouches for
is taken where nobody has to, and marked.
"""

from typing import Any

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.protocols.adcp import forms
from ramify.protocols.adcp.message_signature import Push
from ramify.web.errors import Refused
from ramify.web.events import aside, failure, whole_body
from ramify.web.pushers import PUSHERS
from ramify.web.served import RAMIFY, Served

LARGEST = 2**20


async def received(request: web.Request) -> web.StreamResponse:
    try:
        raw = await whole_body(request, LARGEST)
        status, answer = await taken(request, raw)
    except Exception as problem:
        status, error = failure(problem, request)
        answer = {"received": False, "error": error}
    return web.Response(status=status, body=msgspec.json.encode(answer), content_type="application/json")


async def taken(request: web.Request, raw: bytes) -> tuple[int, dict[str, Any]]:
    ramify = request.app[RAMIFY]
    agent = request.match_info["agent_id"]
    headers = {name.lower(): ", ".join(request.headers.getall(name)) for name in request.headers}
    body = read(raw)
    pushers = request.app[PUSHERS]
    push = Push(pushers.address(request), headers, raw, request.method)
    verified, signer = pushers.check(push, body, agent, ramify.clock() / 1e6)
    line = {
        "kind": "webhook", "op": request.match_info["operation_id"], "agent": agent, "method": request.match_info["task_type"],
        "path": request.raw_path, "headers": headers, "raw": raw.decode(), "signed": verified,
    }  # fmt: skip
    status, answer = await aside(request, store, ramify, line, body, verified)
    if signer is not None:
        pushers.nonces.keep(signer)  # not before: a sender that was told to come again may send the same
    return status, answer


def read(raw: bytes) -> dict[str, Any]:
    hint = "Send an AdCP notification, or an A2A stream response, as JSON"
    try:
        body = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as problem:
        raise UserMistake(f"The body is no JSON: {problem}", hint) from None
    if not isinstance(body, dict) or (forms.carried(body) is None and not isinstance(body.get("task_id"), str)):
        raise UserMistake("The body names no task", hint)
    return body


def store(ramify: Served, line: dict[str, Any], body: dict[str, Any], verified: bool) -> tuple[int, dict[str, Any]]:
    events = ramify.events_of(ramify.project)
    named = body.get("operation_id") if forms.carried(body) is None else None
    session = events.writer_of(named if isinstance(named, str) and named else line["op"])
    [outcome] = events.append_many(session, [line], place=f"webhook {line['agent']}", unverified=not verified)
    if outcome.seq is None:
        raise UserMistake(f"The push is no event: it {outcome.reason}", "See the documentation of webhooks")
    flags, repeats = events.flags_of(session, outcome.seq)
    if repeats and "conflict" in flags:
        hint = "Use a new idempotency key for another notification"
        raise Refused(409, "conflict", "this idempotency key came with another body before", hint)
    return 200, {"received": True, "seq": outcome.seq} | ({"duplicate": True} if "duplicate" in flags else {})
