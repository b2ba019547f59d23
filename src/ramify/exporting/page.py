"""One HTML file that shows a run as the dashboard does: its page and the answers that the page needs, without a server.

What was captured is hostile: it stands in a block of data that no browser runs, and the policy lets nothing but our own script run.
"""

import html
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from ramify.capture.cleaner import Cleaner
from ramify.exporting.wish import LEFT_OUT, Wish, cleaned, left_out, without_results
from ramify.model.entity import Task
from ramify.model.mistake import UserMistake
from ramify.model.observation import Request, Response
from ramify.query.branches import branch_names
from ramify.query.completeness import completeness
from ramify.query.kept import artifacts_of, feedback_of
from ramify.query.observed import body_of
from ramify.query.scope import Scope
from ramify.query.service import NotFound, Questions
from ramify.web.built import STATIC

VERSION = 1
SAVED = STATIC / "saved"
ENDS_SCRIPT = re.compile(r"<(?=/script|!--)", re.IGNORECASE)  # inside of strings, where a backslash changes nothing
ENDS_SHEET = re.compile(r"<(?=/style)", re.IGNORECASE)
Shape = dict[str, Any]


def write(questions: Questions, scope: Scope, wish: Wish, folder: Path = SAVED) -> Iterator[bytes]:
    script, sheet = built(folder)
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(sheet)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(f"{scope.title[:120]} – Ramify" if scope.title else "Ramify")
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{title}</title>\n<style>{sheet}</style>\n</head>\n<body>\n<div id="page"></div>\n'
        "<noscript>This page draws itself with a script of its own, which stands in this file.</noscript>\n"
        '<script type="application/json" id="run">'
    ).encode("utf-8", "replace")
    yield inert(msgspec.json.encode(snapshot(questions, scope, wish)))
    yield f"</script>\n<script>{script}</script>\n</body>\n</html>\n".encode()


def inert(document: bytes) -> bytes:
    """No tag can begin in it; JSON reads the same."""
    return document.replace(b"<", b"\\u003c")


def built(folder: Path) -> tuple[str, str]:
    try:
        script, sheet = (folder / "saved.js").read_text("utf-8"), (folder / "saved.css").read_text("utf-8")
    except FileNotFoundError:
        raise UserMistake("the page was not built yet", "in the checkout, run make web; --to markdown needs no page") from None
    return ENDS_SCRIPT.sub(r"<\\", script), ENDS_SHEET.sub(r"<\\", sheet)


def digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


# -- what the page asks for ------------------------------------------------------------------------------------------------


def snapshot(questions: Questions, scope: Scope, wish: Wish) -> Shape:
    subject = next(iter(sorted(scope.conversations)), "") if scope.entity == "operation" else scope.id
    whole = scope.entity != "task" and bool(subject)
    tasks = {task["id"]: {**task, **more(questions, task["id"])} for task in scope.tasks}
    found: Shape = {
        "version": VERSION, "entity": scope.entity, "id": subject, "title": cleaned(scope.title), "left_out": left_out(wish),
        "skeleton": cleaned(only(questions.skeleton(subject), set(tasks))) | {"seq": 0},
        "conversation": cleaned(questions.conversation(subject)) if whole else None,
        "completeness": completeness(questions.store, subject),
        "tasks": cleaned(tasks),
        "why": {id: cleaned(questions.why(id)) for id in tasks},
        "bodies": {},
    }  # fmt: skip
    for name in ("messages", "tools", "reasoning", "artifacts", "calls", "events"):
        found[name] = {}
    names = branch_names(questions.store, (task["conversation"] for task in tasks.values()))  # once: a conversation has as many as tasks
    for id in tasks:
        add_task(found, questions, id, wish, names)
    return found


def more(questions: Questions, id: str) -> Shape:
    """What a single task is answered with, and a tree is not."""
    row = questions.store.load("tasks", id)
    assert isinstance(row, Task)
    return {"artifacts": artifacts_of(questions.store, row), "feedback": feedback_of(questions.store, row)}


def only(skeleton: Shape, wanted: set[str]) -> Shape:
    """The rows of these tasks. An operation is a part of a conversation, and its roots may hang under others."""
    parts = {name: _kept(skeleton[name], wanted) for name in ("rows", "unattached")}
    return {**skeleton, **parts, "n": sum(len(part["id"]) for part in parts.values())}


def _kept(rows: Shape, wanted: set[str]) -> Shape:
    stays = [at for at, id in enumerate(rows["id"]) if id in wanted]
    if len(stays) == len(rows["id"]):
        return rows
    place = {at: new for new, at in enumerate(stays)}
    still = [(place[at], active) for at, active in zip(rows["open"], rows["active"], strict=True) if at in place]
    found = {name: [column[at] for at in stays] for name, column in rows.items() if name not in ("open", "active")}
    above: list[int] = []  # rows of the old tree that the row at hand stands under, and that stay
    depths: list[int] = []
    for at in stays:
        while above and above[-1] + rows["size"][above[-1]] <= at:
            above.pop()
        depths.append(len(above))
        above.append(at)
    sizes = [sum(one < at + rows["size"][at] for one in stays[nth:]) for nth, at in enumerate(stays)]
    return {**found, "depth": depths, "size": sizes, "open": [at for at, _ in still], "active": [active for _, active in still]}


def add_task(found: Shape, questions: Questions, id: str, wish: Wish, names: Mapping[str, str]) -> None:
    messages = cleaned(questions.messages(id, limit=0)["items"])
    tools = cleaned(questions.tools(id, limit=0)["items"])
    calls = cleaned(questions.calls_of(id, limit=0, names=names)["items"])
    if not wish.results:
        messages = without_results(messages)
        tools = [{**tool, "result": LEFT_OUT if tool["result"] is not None else None} for tool in tools]
    parts = {
        "messages": messages, "tools": tools, "calls": calls, "artifacts": cleaned(questions.artifacts(id, limit=0)["items"]),
        "reasoning": cleaned(questions.reasoning(id, limit=0, histories=False)["items"]), "events": cleaned(questions.task_events(id)["items"]),
    }  # fmt: skip
    for name, items in parts.items():
        if items:
            found[name][id] = items
    if wish.bodies:
        found["bodies"] |= {f"{call['id']}/{side}": text for call in calls for side in ("request", "response") if (text := body(questions, call, side))}


def body(questions: Questions, call: Shape, side: str) -> str:
    try:
        questions.body(call["id"], side)
    except NotFound:
        return ""
    at = 0 if side == "request" else -1
    seen = questions.store.observation(call["observations"][at])
    return body_of(Cleaner().observation(seen)) if isinstance(seen, Request | Response) else ""
