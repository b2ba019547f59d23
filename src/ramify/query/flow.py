"""Everything that happened in a task and under it, in one line of time.

It is put together from what the other questions answer, so that it holds for every protocol whose tasks they know.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from ramify.model.entity import Note
from ramify.model.moment import iso
from ramify.query.kept import REASONING, notes_of
from ramify.query.service import Answer, Questions

KINDS = (
    "subtask", "workflow_node", "request", "model_call", "compaction", "thinking", "explanation", "progress", "message", "tool_call",
    "artifact", "cancel_request", "error", "other", "end",
)  # fmt: skip
"""In the order in which things of one moment are told."""

ENDED = ("completed", "failed", "canceled", "rejected")
PAGE = 1000
Tasks = dict[str, Answer]


def flow(questions: Questions, id: str) -> Answer:
    task = questions.task(id)
    tasks = subtree(questions, task["id"])
    return put_together(task, tasks, Told(questions, task["id"], tasks, histories=False))


class Told:
    """What was said and done in a task and under it, each part read when it is first wanted; `histories` are long."""

    def __init__(self, questions: Questions, id: str, tasks: Tasks, histories: bool = True) -> None:
        self._questions = questions
        self._id = id
        self._tasks = tasks
        self._histories = histories

    @cached_property
    def notes(self) -> list[Note]:
        return [note for note in notes_of(self._questions.store, list(self._tasks)) if note.kind not in REASONING]

    @cached_property
    def calls(self) -> list[Answer]:
        return every(lambda cursor: self._questions.calls_of(self._id, tree=True, limit=PAGE, cursor=cursor))

    @cached_property
    def tools(self) -> list[Answer]:
        return every(lambda cursor: self._questions.tools(self._id, tree=True, limit=PAGE, cursor=cursor))

    @cached_property
    def reasoning(self) -> list[Answer]:
        return every(lambda cursor: self._questions.reasoning(self._id, tree=True, limit=PAGE, cursor=cursor, histories=self._histories))

    @cached_property
    def artifacts(self) -> list[Answer]:
        return every(lambda cursor: self._questions.artifacts(self._id, tree=True, limit=PAGE, cursor=cursor))

    @cached_property
    def messages(self) -> list[Answer]:
        return every(lambda cursor: self._questions.messages(self._id, tree=True, limit=PAGE, cursor=cursor))


def every(ask: Callable[[str | None], Answer]) -> list[Answer]:
    found: list[Answer] = []
    cursor: str | None = None
    while True:
        page = ask(cursor)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found


def subtree(questions: Questions, id: str) -> Tasks:
    """Pre-order: each task before its children."""
    found: Tasks = {}
    waiting = [questions.tree(id)]
    while waiting:
        task = waiting.pop()
        children = task.pop("children")
        found[task["id"]] = {**task, "parent": (task["link"] or {}).get("parent")}
        waiting += reversed(children)
    return found


def put_together(task: Answer, tasks: Tasks, told: Told) -> Answer:
    ending = {note.task for note in told.notes if is_the_end(note, tasks)}
    events = [*_tasks(task["id"], tasks, ending), *_calls(told, tasks), *_tools(told, tasks), *_said(told, tasks), *_artifacts(told, tasks)]
    starts = {one: each["opened"] or "" for one, each in tasks.items()}
    events.sort(key=lambda event: (event["timestamp"] or starts.get(event["task"], ""), KINDS.index(event["kind"])))
    running = [tool["id"] for tool in told.tools if tool["status"] == "running"]
    return {
        "task": task,
        "events": events,
        "totals": {
            "tasks": len(tasks),
            "subtasks": len(tasks) - 1,
            "tool_calls": len(told.tools),
            "open_tool_calls": len(running),
            "own": task["usage"],
            "tree": task["tree_usage"],
        },
        "open": [*(one for one, each in tasks.items() if each["status"] not in ENDED), *running],
        "final_text": final_text(task, told),
        "feedback": [{**note.details, "timestamp": iso(note.at)} for note in told.notes if note.kind == "feedback"],
    }


def event(kind: str, task: Answer | None, id: str | None, at: str | None, text: str | None, **more: Any) -> Answer:
    return {
        "timestamp": at, "kind": kind, "task": task["id"] if task else None, "id": id, "agent_name": name_of(task), "text": text,
        "status": None, "closed": None, **more,
    }  # fmt: skip


def is_the_end(note: Note, tasks: Tasks) -> bool:
    """Of everything that calls itself a task's end, the one that counts."""
    return note.kind == "end" and iso(note.at) == tasks[note.task]["closed"]


def name_of(task: Answer | None) -> str | None:
    return (task["agent_type"] or task["agent"]) if task else None


def _tasks(asked: str, tasks: Tasks, ending: set[str]) -> Iterator[Answer]:
    """`ending` are those whose protocol tells their end itself."""
    for id, task in tasks.items():
        yield event("request", task, id, task["opened"], task["prompt"], author=task["prompt_author"])
        if id != asked:
            parent = tasks.get(task["parent"] or "")
            told = event("subtask", parent, id, task["opened"], task["title"], status=task["status"], closed=task["closed"])
            yield {**told, "task": task["parent"], "agent_name": name_of(task)}
        if task["status"] in ENDED and id not in ending:
            yield event("end", task, id, task["closed"], task["native_status"], status=task["status"], closed=task["closed"])


def _calls(told: Told, tasks: Tasks) -> Iterator[Answer]:
    """Where a protocol tells of errors itself, what it says is not said again of the call."""
    telling = {note.task for note in told.notes if note.kind == "error"}
    for call in told.calls:
        task = tasks.get(call["task"] or "")
        if (call["link"] or {}).get("kind") == "compacted":
            yield event("compaction", task, call["id"], call["opened"], None)
        yield event("model_call", task, call["id"], call["opened"], call["model"], status=call["status"], closed=call["closed"])
        if call["status"] == "error" and (call["error"] or call["task"] not in telling):
            yield event("error", task, call["id"], call["closed"] or call["opened"], call["error"], status="error")


def _tools(told: Told, tasks: Tasks) -> Iterator[Answer]:
    for tool in told.tools:
        task = tasks.get(tool["task"] or "")
        more = {"status": tool["status"], "closed": tool["closed"], "call_id": tool["call_id"]}
        yield event("tool_call", task, tool["id"], tool["timestamp"], tool["name"], **more)


def _said(told: Told, tasks: Tasks) -> Iterator[Answer]:
    for note in told.notes:
        if note.kind != "feedback" and (note.kind != "end" or is_the_end(note, tasks)):
            kind = note.kind if note.kind in KINDS else "other"
            yield event(kind, tasks.get(note.task), note.id, iso(note.at), note.text, status=note.status or None, closed=iso(note.closed))
    for block in told.reasoning:
        if block["kind"] == "context":
            continue  # what a model call was given: the call itself stands there
        yield event(block["kind"], tasks.get(block["task"] or ""), block["message_id"], block["timestamp"], block["text"])
    prompted: set[str] = set()
    for message in told.messages:
        text = text_of(message)
        task = tasks.get(message["task"] or "")
        if task and task["id"] not in prompted and text and is_request(message, text, task):
            prompted.add(task["id"])  # it stands there as the request
        elif text and message["author"] != "tool":
            kind = "message" if message["author"] in ("human", "agent") else "other"
            yield event(kind, task, message["id"], message["timestamp"], text, author=message["author"])


def is_request(message: Answer, text: str, task: Answer) -> bool:
    """The words may stand between others that a platform put around them, and in several parts."""
    if text == task["prompt"]:
        return True
    return message["role"] == "user" and message["timestamp"] == task["opened"] and spaced(task["prompt"] or "") in spaced(text)


def spaced(text: str) -> str:
    return " ".join(text.split())


def _artifacts(told: Told, tasks: Tasks) -> Iterator[Answer]:
    for artifact in told.artifacts:
        yield event("artifact", tasks.get(artifact["task"]), artifact["artifactId"], artifact["timestamp"], artifact["name"])


def text_of(message: Answer) -> str:
    return " ".join(block["text"] for block in message["blocks"] if isinstance(block.get("text"), str) and "text" in (block.get("type"), block.get("kind")))


def final_text(task: Answer, told: Told) -> str | None:
    """The words with which the task itself ended; None while it is open, and where it ended without any."""
    if task["status"] not in ENDED:
        return None
    end = next((note for note in told.notes if note.task == task["id"] and is_the_end(note, {task["id"]: task})), None)
    if end is not None:
        return end.text or None
    own = [message for message in told.messages if message["task"] == task["id"] and message["role"] in ("assistant", "agent")]
    return (text_of(own[-1]) if own else "") or None
