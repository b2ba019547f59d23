"""Where agents push the states of their tasks: `POST /webhook/{task_type}/{agent_id}/{operation_id}`.

The answer comes after the commit, so that a sender that hears nothing may safely send again. What no agent vouches for is taken
on an open server, and marked; where people have to say who they are, it needs a token that may capture.
"""

from typing import Any

import msgspec
from aiohttp import web

from ramify.model.identity import LOCAL, Identity
from ramify.model.mistake import UserMistake
from ramify.protocols.adcp import forms
from ramify.protocols.adcp.message_signature import Push
from ramify.web.attempts import PUSHES, SECONDS
from ramify.web.client import address_of
from ramify.web.errors import Refused
from ramify.web.events import aside, failure, log_of, whole_body
from ramify.web.guard import CAPTURE_TOKEN, check_scope
from ramify.web.pushers import PUSHERS, to_configure
from ramify.web.served import IDENTITY, RAMIFY, EventLog

LARGEST = 2**20
MOST_REFUSED = 60  # of one address in a minute


async def received(request: web.Request) -> web.StreamResponse:
    refusals, address = request.app[PUSHES], address_of(request)
    try:
        if refusals.count(address) >= MOST_REFUSED:
            raise Refused(429, "too_many_attempts", "Too many pushes from your address were refused", f"Wait {SECONDS} seconds")
        raw = await whole_body(request, LARGEST)
        status, answer = await taken(request, raw)
    except Exception as problem:
        status, error = failure(problem, request)
        answer = {"received": False, "error": error}
        if status == 401:
            refusals.failed(address)
    return web.Response(status=status, body=msgspec.json.encode(answer), content_type="application/json")


async def taken(request: web.Request, raw: bytes) -> tuple[int, dict[str, Any]]:
    ramify = request.app[RAMIFY]
    agent = request.match_info["agent_id"]
    headers = {name.lower(): ", ".join(request.headers.getall(name)) for name in request.headers if not name.lower().startswith("x-ramify-")}
    body = read(raw)
    pushers = request.app[PUSHERS]
    push = Push(pushers.address(request), headers, raw, request.method)
    verified, signer = pushers.check(push, body, agent, ramify.clock() / 1e6)
    if not verified:
        request[IDENTITY] = await brought_by(request)
    events = ramify.events_of(ramify.project) if verified else log_of(request)
    line = {
        "kind": "webhook", "op": request.match_info["operation_id"], "agent": agent, "method": request.match_info["task_type"],
        "path": request.raw_path, "headers": headers, "raw": raw.decode(), "signed": verified,
    }  # fmt: skip
    status, answer = await aside(request, store, events, line, body, verified)
    if signer is not None:
        pushers.nonces.keep(signer)  # not before: a sender that was told to come again may send the same
    return status, answer


async def brought_by(request: web.Request) -> Identity:
    """Who brings what no agent vouches for. Unlike that of captured traffic, the Authorization of a push is for us."""
    access = request.app[RAMIFY].access
    if not access.guarded:
        return LOCAL
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    given = request.headers.get(CAPTURE_TOKEN, "") or (bearer.strip() if scheme.lower() == "bearer" else "")
    found = await access.identify(given) if given else None
    if found is None:
        wrong = "nobody vouches for this push" if not given else "the token of this push is wrong, revoked or has expired"
        hint = f"{to_configure(request.match_info['agent_id'])}; or send the header {CAPTURE_TOKEN}: <a token that may capture>"
        raise Refused(401, "unauthorized", wrong, hint)
    check_scope(found, "capture")
    return found


def read(raw: bytes) -> dict[str, Any]:
    hint = "Send an AdCP notification, or an A2A stream response, as JSON"
    try:
        body = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as problem:
        raise UserMistake(f"The body is no JSON: {problem}", hint) from None
    if not isinstance(body, dict) or not names_task(body):
        raise UserMistake("The body names no task", hint)
    return body


def names_task(body: dict[str, Any]) -> bool:
    """A message of A2A may belong to none."""
    wired = forms.carried(body)
    if wired is None:
        return isinstance(body.get("task_id"), str) and bool(body["task_id"].strip())
    return bool(wired.words) or "message" in body or body.get("kind") == "message"


def store(events: EventLog, line: dict[str, Any], body: dict[str, Any], verified: bool) -> tuple[int, dict[str, Any]]:
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
