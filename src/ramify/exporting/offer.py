"""One run in one format, as bytes: for a file, a pipe or an answer over HTTP."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ramify.exporting import log, markdown, page, tables
from ramify.exporting.log import Progress
from ramify.exporting.otlp import batches, to_json
from ramify.exporting.sending import Endpoint
from ramify.exporting.span import Span
from ramify.exporting.spans import Tracing
from ramify.exporting.wish import CONTENTS, FORMATS, Wish, checked, left_out
from ramify.exporting.words import Said
from ramify.model.entity import Call, ToolCall
from ramify.query.scope import Scope, scope
from ramify.query.service import Questions

Shape = dict[str, Any]
MARK = re.compile(rb"\[redacted(?::([a-z0-9-]+))?\]")
NAME = re.compile(r"[^A-Za-z0-9._-]+")


def quiet(done: int, total: int) -> None:
    pass


class Offer(Struct, frozen=True):
    """`pieces` can be read once."""

    name: str
    kind: str
    pieces: Iterator[bytes]


class Exports:
    """Of one store. `environment` says what an endpoint wants to know of whoever sends to it."""

    def __init__(self, questions: Questions, environment: Mapping[str, str]) -> None:
        self._questions = questions
        self._environment = environment

    def offer(self, id: str, wish: Wish, progress: Progress) -> Offer:
        form = FORMATS[checked(wish).to]
        found = scope(self._questions, id)
        name = f"ramify-{NAME.sub('_', found.id)}.{form.ending}"
        return Offer(name, form.kind, written(self._questions, found, wish, progress))

    def asked(self, id: str, wish: Mapping[str, Any]) -> Offer:
        return self.offer(id, Wish(**wish), quiet)

    def previewed(self, id: str, wish: Mapping[str, Any]) -> Shape:
        return self.preview(id, Wish(**wish), quiet)

    def tables(self, id: str) -> Iterator[tuple[str, bytes]]:
        return tables.tables(self._questions.store, scope(self._questions, id))

    def preview(self, id: str, wish: Wish, progress: Progress) -> Shape:
        """What would be in it. It is made for that, and thrown away: nothing else could say what is redacted."""
        found = scope(self._questions, id)
        marks, size = Counter[str](), 0
        for piece in looked_at(self._questions, found, checked(wish), progress):
            size += len(piece)
            marks.update((kind or b"secret").decode() for kind in MARK.findall(piece))
        return {
            "id": found.id, "entity": found.entity, "title": found.title, "to": wish.to, "bytes": size, "holds": counts(self._questions, found),
            "contents": list(CONTENTS[wish.to]), "left_out": left_out(wish), "redacted": dict(sorted(marks.items())),
        }  # fmt: skip

    def send(self, id: str, wish: Wish, address: str, progress: Progress) -> Shape:
        """To an OTLP endpoint."""
        found = scope(self._questions, id)
        endpoint = Endpoint(address, self._environment)
        ready = list(batches(spans(self._questions, found, checked(wish))))
        total, sent, rejected, words = sum(map(len, ready)), 0, 0, ""
        for batch in ready:
            refused, said = endpoint.deliver(batch)
            sent, rejected, words = sent + len(batch), rejected + refused, said or words
            progress(sent, total)
        return {"id": found.id, "to": endpoint.url, "spans": total, "rejected": rejected, "message": words or None}


def written(questions: Questions, found: Scope, wish: Wish, progress: Progress) -> Iterator[bytes]:
    match wish.to:
        case "jsonl":
            return log.lines(questions, found, progress)
        case "markdown":
            return markdown.write(questions, found, wish)
        case "parquet":
            return iter([tables.archive(questions.store, found)])
        case "otlp":
            return (to_json(batch) + b"\n" for batch in batches(spans(questions, found, wish)))
        case _:
            return page.write(questions, found, wish)


def looked_at(questions: Questions, found: Scope, wish: Wish, progress: Progress) -> Iterator[bytes]:
    """The same where it can be read by the eye: tables are packed."""
    if wish.to != "parquet":
        return written(questions, found, wish, progress)
    return (repr(row).encode() for _, rows in tables.views(questions.store, found) for row in rows[1])


def counts(questions: Questions, found: Scope) -> dict[str, int]:
    store, ids = questions.store, found.ids
    calls = [row for row in store.among("calls", "task", ids) if isinstance(row, Call) and not (row.relation == "seen" and row.twin)]
    tools = [row for row in store.among("tools", "call", [call.id for call in calls]) if isinstance(row, ToolCall) and not row.task]
    return {
        "conversations": len(found.conversations),
        "tasks": len(ids),
        "model_calls": len(calls),
        "tool_calls": len(tools) + len(store.among("tools", "task", ids)),
        "artifacts": len(store.among("artifacts", "task", ids)),
    }


def spans(questions: Questions, found: Scope, wish: Wish) -> Iterator[Span]:
    """What is sent of a part of a tree hangs under nothing: what it hung under is not sent."""
    sent = set(found.ids)
    tops = frozenset(task["id"] for task in found.tasks if task["link"] and task["link"]["parent"] not in sent)
    words = Said(questions.store) if wish.content else None
    return Tracing(questions.store, words, tops).whole(found.ids)
