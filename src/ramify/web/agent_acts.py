"""What a person does to tasks of agents: their agents are asked, which may take a while; so this is done in the loop."""

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.query.service import Answer
from ramify.web.answering import LARGEST_ACT, document, json_body
from ramify.web.served import seen
from ramify.web.shapes import NewAnswer

LARGEST_ANSWER = 4 * 2**20


async def answered(request: web.Request) -> web.StreamResponse:
    body = await json_body(request, LARGEST_ANSWER)
    try:
        wish = msgspec.json.decode(body, type=NewAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UserMistake(f"The body is no answer: {error}", 'Send JSON: {"text": "…"} or {"data": …}') from None
    return told(request, await seen(request).acting.answer(request.match_info["id"], wish.text, wish.data))


async def canceled(request: web.Request) -> web.StreamResponse:
    await json_body(request, LARGEST_ACT)
    return told(request, await seen(request).acting.cancel(request.match_info["id"]))


def told(request: web.Request, answer: Answer) -> web.Response:
    packed = "gzip" in request.headers.get("accept-encoding", "")
    return document({"seq": seen(request).questions.seq(), **answer}, packed)
