"""The client's own fields: a line of a transcript and what stands inside it.

Every field may hold anything. What is large stays as bytes until somebody asks for it: most lines, and most of a
line, tell nothing new.
"""

from typing import Any, TypedDict

import msgspec
from msgspec import Raw, Struct, field

NOTHING = Raw(b"null")


class Line(Struct, rename="camel"):
    """A line of a transcript, of every version so far."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parent_uuid: Any = None
    logical_parent_uuid: Any = None
    session_id: Any = None
    agent_id: Any = None
    is_sidechain: Any = None
    forked_from: Any = None

    message: Raw = NOTHING
    request_id: Any = None
    api_block_index: Any = None
    is_api_error_message: Any = None
    is_aborted_mid_stream: Any = None
    tool_use_result: Raw = NOTHING
    tool_denial_kind: Any = None

    is_meta: Any = None
    is_compact_summary: Any = None
    is_visible_in_transcript_only: Any = None
    origin: Any = None
    turn_origin: Any = None
    prompt_source: Any = None
    source_tool_use_id: Any = field(default=None, name="sourceToolUseID")

    attachment: Raw = NOTHING
    rendered: Raw = NOTHING
    rendered_role: Any = None
    content: Raw = NOTHING
    data: Raw = NOTHING
    parent_tool_use_id: Any = field(default=None, name="parentToolUseID")
    model_usage: Raw = NOTHING


class Message(Struct):
    id: Any = None
    role: Any = None
    model: Any = None
    content: Any = None
    stop_reason: Any = None
    usage: Any = None


class Outcome(TypedDict, total=False):
    """`toolUseResult`: what the client knows of a tool's result beside its words. Each tool has its own fields."""

    status: Any
    prompt: Any
    agentId: Any
    agentType: Any
    description: Any
    totalTokens: Any
    runId: Any
    taskId: Any
    resumedAgentId: Any
    interrupted: Any


class AttachmentKind(Struct):
    type: Any = None


class Queued(Struct, rename="camel"):
    """`queued_command`: a message that joined a running turn."""

    prompt: Any = None
    command_mode: Any = None
    origin: Any = None
    source_uuid: Any = field(default=None, name="source_uuid")


class Hooked(Struct, rename="camel"):
    """`hook_…`: what a hook said. One of the fields has it, depending on how the hook ended."""

    content: Any = None
    blocking_error: Any = None


class Progress(Struct, rename="camel"):
    """Inside a `progress` line (2.1.30): an agent's message, told to its caller."""

    type: Any = None
    agent_id: Any = None
    prompt: Any = None


line_decoder = msgspec.json.Decoder(Line)
message_decoder = msgspec.json.Decoder(Message)
outcome_decoder = msgspec.json.Decoder(Outcome)
kind_decoder = msgspec.json.Decoder(AttachmentKind)
queued_decoder = msgspec.json.Decoder(Queued)
hooked_decoder = msgspec.json.Decoder(Hooked)
progress_decoder = msgspec.json.Decoder(Progress)
any_decoder = msgspec.json.Decoder()
object_decoder = msgspec.json.Decoder(dict[str, Any])


def is_object(raw: Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"
