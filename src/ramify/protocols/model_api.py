"""The APIs of models that are understood on the wire, each by its path: their bodies in the words of the Messages API.

What follows (linking, questions, search) knows one form of messages and answers; which API it was stands in the path alone.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ramify.model.event import Event, ModelCalled, Part
from ramify.model.ids import digest
from ramify.model.observation import Request, Response
from ramify.protocols.anthropic import decode as anthropic
from ramify.protocols.anthropic.answer import Answer, from_json, from_stream
from ramify.protocols.anthropic.decode import decode_unreadable, header, plain_body
from ramify.protocols.anthropic.normal import read_part
from ramify.protocols.anthropic.wire import Envelope, read_envelope
from ramify.protocols.openai import answer as openai
from ramify.protocols.openai import decode as openai_requests
from ramify.protocols.openai.wire import chat_message, response_item

__all__ = ["Api", "api_of", "decode_request", "decode_response", "decode_unreadable", "header", "is_model_call", "messages_of", "plain_body", "read_answer"]


class Api(NamedTuple):
    name: str
    paths: re.Pattern[str]
    listed: bytes  # the field that holds the messages
    read: Callable[[bytes], Envelope | str]
    message: Callable[[Any], Any]  # one of them, in the form of the Messages API
    whole: Callable[[bytes], Answer]
    streamed: Callable[[bytes], Answer]

    def part(self, raw: bytes) -> Part:
        try:
            return read_part(self.message(msgspec.json.decode(raw)))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Part("unknown", digest(raw))


def unchanged(message: Any) -> Any:
    return message


MESSAGES = Api("messages", anthropic.MESSAGES, b"messages", read_envelope, unchanged, from_json, from_stream)
CHAT = Api(
    "chat", re.compile(r"/chat/completions(?:\?|$)"), b"messages", openai_requests.read_chat, chat_message,
    openai.chat_from_json, openai.chat_from_stream,
)  # fmt: skip
RESPONSES = Api(
    "responses", re.compile(r"/responses(?:\?|$)"), b"input", openai_requests.read_responses, response_item,
    openai.response_from_json, openai.response_from_stream,
)  # fmt: skip
APIS = (MESSAGES, CHAT, RESPONSES)


def api_of(path: str) -> Api | None:
    return next((api for api in APIS if api.paths.search(path)), None)


def is_model_call(method: str, path: str) -> bool:
    return method == "POST" and api_of(path) is not None


def api_at(path: str) -> Api:
    return api_of(path) or MESSAGES


def messages_of(seen: Request) -> list[bytes]:
    """Each message of a request, as JSON in the form of the Messages API; none where the body cannot be read."""
    api = api_at(seen.path)
    envelope = api.read(plain_body(seen.body, seen.headers))
    if not isinstance(envelope, Envelope):
        return []
    raws = [bytes(raw) for raw in envelope.messages]
    return raws if api is MESSAGES else [_translated(api, raw) for raw in raws]


def _translated(api: Api, raw: bytes) -> bytes:
    try:
        return msgspec.json.encode(api.message(msgspec.json.decode(raw)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return raw


def envelope_of(seen: Request) -> Envelope | str:
    return api_at(seen.path).read(plain_body(seen.body, seen.headers))


def decode_request(seen: Request, envelope: Envelope, parts: tuple[Part, ...], strict: bytes) -> ModelCalled:
    called = anthropic.decode_request(seen, envelope, parts, strict)
    return called if api_at(seen.path) is MESSAGES else openai_requests.placed(called, envelope)


def read_answer(seen: Response) -> Answer:
    api = api_at(seen.path)
    body = plain_body(seen.body, seen.headers)
    streamed = "text/event-stream" in header(seen.headers, "content-type") or body.startswith((b"event:", b"data:", b":"))
    return api.streamed(body) if streamed else api.whole(body)


def decode_response(seen: Response, answer: Answer | None = None) -> list[Event]:
    return anthropic.decode_response(seen, answer or read_answer(seen))
