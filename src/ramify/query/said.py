"""Messages with their true authors, and reasoning, in the order in which a task said them."""

from typing import Any

from ramify.linking.authorship import CALLER, HUMAN, MODEL, SUMMARY_ASKED, TOOL, Author, judge_part, system_pieces
from ramify.model.entity import Call, Message, Task
from ramify.model.moment import iso
from ramify.protocols.anthropic.normal import blocks_of, read_part
from ramify.query.content import Block, Content, parse
from ramify.query.writers import writer_of

Shape = dict[str, Any]
LOCAL = ("caveat", "command", "command-output")


def messages_of(content: Content, call: Call, task: Task | None) -> list[Shape]:
    """What one call brought: its new messages, split by author, and its answer. A further attempt repeats no question."""
    found: list[Shape] = []
    if not call.attempt_of:
        found += _between(content, call, task)
        for index, first, message in content.new_messages(call):
            found += _split(content, call, task, index, first, message)
    answer = content.answer(call)
    if answer.blocks and not (call.lent and _is_told(content, call)):
        found.append(_shape(call, f"{call.id}.a", "assistant", MODEL, task.id if task else "", answer.blocks, call.ended))
    return found


def _is_told(content: Content, call: Call) -> bool:
    """The wire has only the beginning of the answer: the report that says all of it is shown."""
    rows = content.store.among("messages", "line", [call.task])
    return any(isinstance(row, Message) and row.answer == call.message for row in rows)


def _between(content: Content, call: Call, task: Task | None) -> list[Shape]:
    """Behind a summary stand messages that were kept, and among them what local commands said since."""
    if call.relation != "compacted":
        return []
    kept = content.messages(call)[1 : call.new_message + 1]
    said = [one for index, raw in enumerate(kept, 1) for one in _split(content, call, task, index, 0, parse(raw))]
    return [one for one in said if one["author_kind"] in LOCAL]


def _split(content: Content, call: Call, task: Task | None, index: int, first: int, message: Any) -> list[Shape]:
    """One message per author: a wire message may hold a result, a reminder and a prompt."""
    if not isinstance(message, dict):
        message = {"role": "unknown", "content": str(message)}
    role = str(message.get("role", "unknown"))
    blocks = [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in blocks_of(message.get("content"))]
    if role == "system":
        blocks, first = _in_pieces(blocks, first)
        message = {"role": role, "content": blocks}
    judged = {text.block: author for text, author in judge_part(read_part(message))}
    groups: list[tuple[Author, int, list[Block]]] = []
    for at, block in enumerate(blocks):
        if at < first:
            continue
        author = _author(call, role, block, judged.get(at), task)
        if groups and groups[-1][0] == author:
            groups[-1][2].append(block)
        else:
            groups.append((author, at, [block]))
    return [
        _shape(call, f"{call.id}.{index}.{at}", role, author, writer_of(content.store, task, author, kept, call.started), kept, call.started)
        for author, at, kept in groups
    ]


def _in_pieces(blocks: list[Block], first: int) -> tuple[list[Block], int]:
    """What the client glued together was said by several: each piece is a block, and the first new one moves along."""
    found: list[Block] = []
    start = 0
    for at, block in enumerate(blocks):
        if at == first:
            start = len(found)
        text = block.get("text")
        pieces = system_pieces(text) if block.get("type") == "text" and isinstance(text, str) else []
        found += [{**block, "text": piece} for piece in pieces] if len(pieces) > 1 else [block]
    return found, start if first < len(blocks) else len(found)


def _author(call: Call, role: str, block: Block, judged: Author | None, task: Task | None) -> Author:
    if role == "assistant":
        return MODEL
    if block.get("type") == "tool_result":
        return TOOL
    if judged is None:
        judged = HUMAN if role == "user" else Author("unknown", "", "an unknown role")
    if judged is SUMMARY_ASKED and call.utility != "compaction":
        judged = HUMAN  # a person's own wish
    if judged is HUMAN and task is not None and task.kind == "sub":
        return CALLER
    return judged


def _shape(call: Call, id: str, role: str, author: Author, author_id: str, blocks: list[Block], at: int) -> Shape:
    return {
        "id": id,
        "task": call.task or None,
        "call": call.id,
        "role": role,
        "author": author.author,
        "author_id": author_id or None,
        "author_kind": author.kind or None,
        "reason": author.reason,
        "blocks": blocks,
        "timestamp": iso(at),
    }


def reasoning_of(content: Content, call: Call, task: Task | None) -> list[Shape]:
    found: list[Shape] = []
    for block in content.answer(call).blocks:
        if block.get("type") not in ("thinking", "redacted_thinking"):
            continue
        text = str(block.get("thinking") or "")
        found.append(
            {
                "task": call.task or None,
                "message_id": call.message or None,
                "call": call.id,
                "timestamp": iso(call.ended or call.started),
                "agent_name": (task.agent_type or task.agent or None) if task else None,
                "kind": "thinking",
                "text": text,
                "withheld": not text,
                "model": call.model or None,
                "conversation_history": None,
            }
        )
    return found
