"""The event log for whoever runs the server: every session, as the command line sees it. Callers see their own elsewhere."""

from aiohttp import web

from ramify.query.service import Answer
from ramify.web.answering import document
from ramify.web.events import aside, log_of
from ramify.web.route import LIMIT, Asked, read_parameters
from ramify.web.served import seen


def operations(asked: Asked) -> Answer:
    return asked.ramify.questions.operations(**asked.given)


def operation(asked: Asked) -> Answer:
    return asked.ramify.questions.tree(asked.path["id"])


def events(asked: Asked) -> Answer:
    return asked.ramify.questions.events(**asked.given)


async def sessions(request: web.Request) -> web.StreamResponse:
    limit = read_parameters(request.query.items(), (LIMIT,))["limit"]
    items = await aside(request, log_of(request).sessions, limit)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    return document({"seq": seen(request).questions.seq(), "items": items, "next": None}, packed)
