"""Full-text search: newest hits first, with the words around them, and how far the index has come."""

import re
from typing import Any

import msgspec

from ramify.model.entity import Call, Message, Note, Task, ToolCall
from ramify.model.ids import seen_call_id
from ramify.model.kept_text import kept_texts
from ramify.model.moment import iso
from ramify.protocols.anthropic.normal import blocks_of, result_text
from ramify.query import told
from ramify.query.content import Content, parse
from ramify.query.errors import BadQuestion
from ramify.storage.base import Store, Words

BEFORE, LENGTH = 30, 200  # the words that were found stand near the beginning, where a narrow column still shows them
KEPT = {"messages": "message", "notes": "note", "tools": "tool"}
TERM = re.compile(r'"([^"]+)"|(\S+)')


def search(store: Store, text: str, limit: int, cursor: str | None) -> dict[str, Any]:
    terms = [quoted or word for quoted, word in TERM.findall(text)]
    terms = [term for term in terms if re.search(r"\w", term)]
    if not terms:
        raise BadQuestion(f"{text!r} has no word to search for")
    if cursor is not None and not cursor.isdigit():
        raise BadQuestion(f"{cursor!r} is no cursor: use the value of 'next' of the page before")
    query = " ".join('"' + term.replace('"', '""') + '"' for term in terms)
    hits = store.search.find(query, limit + 1, int(cursor) if cursor else None)
    content = Content(store)
    found = (_item(store, content, words, terms) for _, words in hits[:limit])
    items = list({(item["side"], item["call"], item["message"], item["block"]): item for item in found if item is not None}.values())
    after = str(hits[limit - 1][0]) if len(hits) > limit else None
    return {"items": items, "next": after, "indexed": store.search.indexed(), "seq": store.seq()}


def _item(store: Store, content: Content, words: Words, terms: list[str]) -> dict[str, Any] | None:
    if words.side == "message":
        return _reported(store, words, terms)
    if words.side in KEPT:
        return _kept(store, words, terms)
    call = store.load("calls", words.call)
    text = text_at(content, call, words) if isinstance(call, Call) else ""
    return {
        "call": words.call,
        "task": call.task or None if isinstance(call, Call) else None,
        "conversation": call.conversation or None if isinstance(call, Call) else None,
        "kind": words.kind,
        "side": words.side,
        "message": words.message,
        "block": words.block,
        "snippet": snippet(text, terms),
        "timestamp": iso(call.started) if isinstance(call, Call) else None,
    }


def _kept(store: Store, words: Words, terms: list[str]) -> dict[str, Any] | None:
    row = store.load(words.side, words.call)
    if not isinstance(row, Message | Note | ToolCall):
        return None
    id, at = (row.line, row.at) if isinstance(row, Message) else (row.task, row.at if isinstance(row, Note) else row.opened)
    task = store.load("tasks", id)
    texts = kept_texts(row)
    return {
        "call": None,
        "task": id or None,
        "conversation": task.conversation or None if isinstance(task, Task) else None,
        "kind": words.kind,
        "side": KEPT[words.side],
        "message": row.id,
        "block": words.block,
        "snippet": snippet(texts[words.block][1] if words.block < len(texts) else "", terms),
        "timestamp": iso(at),
    }


def _reported(store: Store, words: Words, terms: list[str]) -> dict[str, Any] | None:
    """None where the wire shows the same words, which are then found there."""
    row = store.load("messages", words.call)
    if not isinstance(row, Message) or row.echo:
        return None
    call = store.load("calls", seen_call_id(row.project, row.answer)) if row.answer else None
    task = store.load("tasks", row.line)
    first = store.load("calls", task.first) if isinstance(task, Task) else None
    if (isinstance(call, Call) and call.twin) or (not row.answer and isinstance(first, Call) and first.relation != "seen"):
        return None
    event = told.said_in(store, row)
    blocks = event.blocks if event else ()
    return {
        "call": call.id if isinstance(call, Call) else None,
        "task": row.line or None,
        "conversation": task.conversation or None if isinstance(task, Task) else None,
        "kind": words.kind,
        "side": words.side,
        "message": row.id,
        "block": words.block,
        "snippet": snippet(block_text(blocks[words.block], words.kind) if words.block < len(blocks) else "", terms),
        "timestamp": iso(row.at),
    }


def text_at(content: Content, call: Call, words: Words) -> str:
    if words.side == "response":
        blocks: list[Any] = content.answer(call).blocks
    else:
        raws = content.messages(call)
        message = parse(raws[words.message]) if words.message < len(raws) else {}
        blocks = blocks_of(message.get("content") if isinstance(message, dict) else None)
    return block_text(blocks[words.block], words.kind) if words.block < len(blocks) else ""


def block_text(block: Any, kind: str) -> str:
    if not isinstance(block, dict):
        return ""
    match kind:
        case "thinking":
            return str(block.get("thinking") or "")
        case "input":
            return msgspec.json.encode(block.get("input", block.get("input_text"))).decode()
        case "result":
            return result_text(block.get("content"))
        case _:
            return str(block.get("text") or "")


def snippet(text: str, terms: list[str]) -> str:
    """Around all words in a row, if they stand like that; else around the longest, which is the rarest."""
    flat = " ".join(text.split())
    lower = flat.lower()
    wanted = (" ".join(terms), *sorted(terms, key=len, reverse=True))
    places = (at for term in wanted if (at := lower.find(term.lower())) >= 0)
    start = max(next(places, 0) - BEFORE, 0)
    end = start + LENGTH
    return ("…" if start else "") + flat[start:end] + ("…" if end < len(flat) else "")
