"""From the body of a request to what the Messages API's has: messages, tools, who asks, and what it goes on from."""

from typing import Any

import msgspec
from msgspec import Raw, structs

from ramify.model.event import ModelCalled
from ramify.protocols.anthropic.wire import Envelope
from ramify.protocols.openai.wire import ChatRequest, ResponsesRequest

_chat = msgspec.json.Decoder(ChatRequest)
_responses = msgspec.json.Decoder(ResponsesRequest)
_items = msgspec.json.Decoder(list[Raw])
PROBLEMS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_chat(body: bytes) -> Envelope | str:
    try:
        asked = _chat.decode(body)
    except PROBLEMS as problem:
        return str(problem)
    most = asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens
    return Envelope(asked.messages, asked.model, tools=asked.tools, max_tokens=most, metadata=user_of(asked))


def read_responses(body: bytes) -> Envelope | str:
    try:
        asked = _responses.decode(body)
        raw = bytes(asked.input).strip()
        items = [asked.input] if raw.startswith(b'"') else [] if raw == b"null" else _items.decode(raw)
    except PROBLEMS as problem:
        return str(problem)
    previous = asked.previous_response_id
    return Envelope(
        items, asked.model, asked.instructions, asked.tools, asked.max_output_tokens, user_of(asked) | {"conversation": conversation_of(asked)},
        thread={"type": "continue", "previous_message_id": previous} if isinstance(previous, str) and previous else None,
    )  # fmt: skip


def user_of(asked: ChatRequest | ResponsesRequest) -> dict[str, Any]:
    return {"user_id": asked.user or asked.safety_identifier}


def conversation_of(asked: ResponsesRequest) -> str:
    """Kept by the provider: a request holds only what is new."""
    given = asked.conversation.get("id") if isinstance(asked.conversation, dict) else asked.conversation
    return given if isinstance(given, str) else ""


def placed(called: ModelCalled, envelope: Envelope) -> ModelCalled:
    """The provider's conversation is a session, where no header names another."""
    session = envelope.metadata.get("conversation") if isinstance(envelope.metadata, dict) else ""
    if not session or called.scope.session:
        return called
    return structs.replace(called, scope=structs.replace(called.scope, session=session))
