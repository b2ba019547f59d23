"""What is known of the tasks that are followed: a tree that grows by what agents say. Pure."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from ramify.capture.a2a_client.heard import Heard, is_over
from ramify.model.moment import iso


class Followed(Struct):
    """A task by the id that its agent gave it. Its agent is unknown until one shows it."""

    id: str
    agent: str = ""
    title: str = ""
    prompt: str = ""
    state: str = ""
    word: str = ""
    time: int = 0  # of its last status, by the agent's clock
    context: str = ""
    question: str = ""  # what it waits for, in the agent's words
    question_id: str = ""
    flags: tuple[str, ...] = ()
    depth: int = 0
    opened: int = 0
    closed: int = 0
    print: bytes = b""  # of the last snapshot
    asked: tuple[str, ...] = ()  # agents that do not know it
    children: "list[Followed]" = field(default_factory=list)

    @property
    def unresolved(self) -> bool:
        return not self.agent

    @property
    def name(self) -> str:
        return self.title or self.prompt.strip().partition("\n")[0] or self.id


class Forest:
    def __init__(self) -> None:
        self.root = Followed("")
        self._seen: set[str] = set()

    def begin(self, id: str, agent: str, at: int) -> Followed:
        self._seen.add(id)
        self.root = Followed(id, agent, opened=at)
        return self.root

    def each(self) -> Iterator[Followed]:
        """Parents before their children, without recursion: a chain of agents may be longer than Python's stack."""
        waiting = [self.root]
        while waiting:
            task = waiting.pop()
            yield task
            waiting += reversed(task.children)

    def hear(self, task: Followed, heard: Heard, at: int) -> tuple[bool, list[Followed]]:
        """Whether it says anything new, and the tasks that are named for the first time."""
        before = (task.state, task.word, task.time, task.question_id)
        grown = heard.kind == "task" and task.print not in (b"", heard.print)
        task.context = task.context or heard.context
        task.print = heard.print  # of a snapshot; what an event adds to it will show in the next one, and is not news
        if heard.status is not None and heard.state and not is_over(task.state):
            task.state, task.word, task.time = heard.state, heard.status.word, heard.status.time
            said = heard.status.message
            task.question, task.question_id = (said.text, said.id) if said else ("", "")
            task.closed = at if is_over(task.state) else 0
        if not task.prompt:
            task.prompt = next((spoken.text for spoken in heard.said if spoken.role == "user"), "")
        fresh = self._named(task, heard, at)
        changed = before != (task.state, task.word, task.time, task.question_id) or grown or bool(fresh)
        return changed or heard.kind in ("statusUpdate", "artifactUpdate"), fresh

    def _named(self, task: Followed, heard: Heard, at: int) -> list[Followed]:
        fresh = []
        for id, title in heard.references:
            if id not in self._seen:
                self._seen.add(id)
                fresh.append(Followed(id, title=title, depth=task.depth + 1, opened=at))
        task.children += fresh
        return fresh

    # -- as people see it ---------------------------------------------------------------------------------------------

    def picture(self) -> dict[str, Any]:
        """In the shape of a tree of tasks, as far as it is known by now."""
        drawn = {task.id: {**self.line(task), "children": []} for task in self.each()}
        for task in self.each():
            drawn[task.id]["children"] = [drawn[child.id] for child in task.children]
        return drawn[self.root.id]

    def line(self, task: Followed) -> dict[str, Any]:
        return {
            "id": task.id, "title": task.name, "prompt": task.prompt, "agent": task.agent or None, "agent_type": None,
            "status": task.state or "unknown", "native_status": task.word, "flags": list(task.flags),
            "opened": iso(task.opened), "closed": iso(task.closed) if task.closed else None,
            "unresolved": task.unresolved, "asked": list(task.asked), "question": task.question, "depth": task.depth,
        }  # fmt: skip
