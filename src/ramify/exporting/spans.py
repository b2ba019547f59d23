"""Tasks, model calls and tool calls as nested spans, in the newest names of the GenAI conventions. No content: see `words.py`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from ramify.exporting.span import CLIENT, ERROR, INTERNAL, OK, UNSET, Attributes, Span, SpanLink, span_id, trace_id
from ramify.model.entity import Call, Conversation, Task, ToolCall
from ramify.model.link import Link
from ramify.model.standing import task_closed, task_status
from ramify.model.usage import NOTHING
from ramify.query.family import ancestry
from ramify.storage.base import Store

REMOTE = ("a2a", "adcp")
NAMED = ("a2a", "sam", "adcp")  # protocols whose agents have names of their own
OUTCOMES = {"completed": OK, "failed": ERROR, "rejected": ERROR}


class Words(Protocol):
    """What was said, as attributes."""

    def of_task(self, task: Task) -> Attributes: ...
    def of_calls(self, calls: Sequence[Call]) -> dict[str, Attributes]: ...
    def of_tools(self, tools: Sequence[ToolCall]) -> dict[str, Attributes]: ...


class Tracing:
    """Spans of a store's rows. Which of them are asked for does not change a span, but for `tops`: tasks to be shown without
    what they hang under; it becomes a link."""

    def __init__(self, store: Store, words: Words | None = None, tops: frozenset[str] = frozenset()) -> None:
        self._store = store
        self._words = words
        self._tops = tops
        self._roots: dict[str, Task] = {}
        self._tasks: dict[str, Task] = {}
        self._named: dict[str, str] = {}

    def whole(self, ids: Sequence[str]) -> Iterator[Span]:
        """Everything that these tasks did themselves, task by task."""
        tasks = self._know(ids)
        calls: dict[str, list[Call]] = {}
        for call in self._calls(ids):
            calls.setdefault(call.task, []).append(call)
        tools: dict[str, list[ToolCall]] = {}
        for owner, tool in self._tools(ids):
            tools.setdefault(owner, []).append(tool)
        for id in ids:
            if id in tasks:
                own, used = calls.get(id, []), tools.get(id, [])
                yield from (self.task(tasks[id], latest(tasks[id], own, used)), *self.calls(own), *self.tools(used, id))

    def some(self, rows: Sequence[Task | Call | ToolCall]) -> Iterator[Span]:
        """Of these alone. Calls of no task, such as a client's own questions, are part of no tree."""
        owners = {row.id: row.id if isinstance(row, Task) else self._owner(row) for row in rows}
        self._know(sorted(set(owners.values()) - {""}))
        yield from (self.task(row) for row in rows if isinstance(row, Task) and row.id in self._roots)
        yield from self.calls([row for row in rows if isinstance(row, Call) and owners[row.id] in self._roots])
        tools: dict[str, list[ToolCall]] = {}
        for row in rows:
            if isinstance(row, ToolCall) and owners[row.id] in self._roots:
                tools.setdefault(owners[row.id], []).append(row)
        for task, used in tools.items():
            yield from self.tools(used, task)

    def _owner(self, row: Call | ToolCall) -> str:
        if row.task:
            return row.task
        call = self._store.load("calls", row.call) if isinstance(row, ToolCall) else None
        twin = self._store.load("calls", call.twin) if isinstance(call, Call) and not call.task and call.twin else call
        return twin.task if isinstance(twin, Call) else ""

    def _know(self, ids: Sequence[str]) -> dict[str, Task]:
        found = {row.id: row for row in self._store.among("tasks", "id", list(ids)) if isinstance(row, Task)}
        self._tasks |= found
        paths = ancestry(self._store, list(found.values()))
        tops = {path[-1] if path else id for id, path in paths.items()}
        rows = {row.id: row for row in self._store.among("tasks", "id", sorted(tops)) if isinstance(row, Task)}
        self._roots |= {id: rows[path[-1] if path else id] for id, path in paths.items() if (path[-1] if path else id) in rows}
        return found

    def _calls(self, tasks: Sequence[str]) -> list[Call]:
        """A report of what the wire shows is left out."""
        rows = [row for row in self._store.among("calls", "task", list(tasks)) if isinstance(row, Call)]
        return sorted((row for row in rows if not (row.relation == "seen" and row.twin)), key=lambda call: (call.started, call.id))

    def _tools(self, tasks: Sequence[str]) -> list[tuple[str, ToolCall]]:
        owners = {row.id: row.task for row in self._store.among("calls", "task", list(tasks)) if isinstance(row, Call)}
        asked = [row for row in self._store.among("tools", "call", list(owners)) if isinstance(row, ToolCall) and not row.task]
        own = [row for row in self._store.among("tools", "task", list(tasks)) if isinstance(row, ToolCall) and row.task]
        pairs = [(owners[row.call], row) for row in asked] + [(row.task, row) for row in own]
        return sorted(pairs, key=lambda pair: (pair[1].opened, pair[1].block, pair[1].id))

    # -- one of each -------------------------------------------------------------------------------------------------------

    def task(self, task: Task, end: int = 0) -> Span:
        """One that is not over ends with the last that is known of it, and says so."""
        closed, status = task_closed(task), task_status(task)
        agent = agent_of(task)
        link = task.link if task.link is not None and task.link.kind else None
        last = max(closed or end, task.opened)
        return Span(
            self._trace(task.id), span_id(task), b"" if task.id in self._tops else self._above(task),
            f"invoke_agent {agent}".strip(), CLIENT if task.protocol in REMOTE else INTERNAL, task.opened or last, last,
            {
                "gen_ai.operation.name": "invoke_agent",
                "openinference.span.kind": "AGENT",
                **self._who(task),
                "ramify.task.id": task.id,
                "ramify.task.status": status,
                "ramify.task.native_status": task.native_status or None,
                "ramify.operation.id": task.operation or None,
                **(link_attributes(link) if link is not None else {}),
                "a2a.task.id": next((ref.value for ref in task.refs if (ref.protocol, ref.kind) == ("a2a", "task")), None),
                "ramify.open": None if closed else True,
                "error.type": (task.native_status or status) if OUTCOMES.get(status) == ERROR else None,
                **(self._words.of_task(task) if self._words else {}),
            },
            OUTCOMES.get(status, UNSET), links=tuple(self._links(task)), service=self._service(task.id),
        )  # fmt: skip

    def calls(self, calls: Sequence[Call]) -> Iterator[Span]:
        said = self._words.of_calls(calls) if self._words else {}
        resent = attempts(self._store, calls)
        for call in calls:
            yield self._call(call, resent.get(call.id, 0), said.get(call.id, {}))

    def _call(self, call: Call, resent: int, said: Attributes) -> Span:
        failed = call.status == "error"
        return Span(
            self._trace(call.task), span_id(call), self._of(call.task), f"chat {call.model}".strip(), CLIENT,
            call.started, max(call.ended, call.started),
            {
                "gen_ai.operation.name": "chat",
                "openinference.span.kind": "LLM",
                "gen_ai.provider.name": provider_of(call),
                **self._who(self._tasks.get(call.task)),
                "gen_ai.request.model": call.model or None,
                "gen_ai.response.model": (call.model or None) if call.message else None,
                "gen_ai.response.id": call.message or None,
                "gen_ai.response.finish_reasons": [call.stop_reason] if call.stop_reason else None,
                "gen_ai.response.time_to_first_chunk": (call.first_byte - call.started) / 1e6 if call.first_byte else None,
                **spent(call),
                "http.request.resend_count": resent or None,
                "http.response.status_code": call.http_status or None,
                "ramify.call.id": call.id,
                "ramify.call.kind": "utility" if call.utility else None,
                "ramify.open": None if call.ended else True,
                "error.type": str(call.http_status or "error") if failed else None,
                **said,
            },
            ERROR if failed else OK if call.status == "ok" else UNSET,
            call.error if failed else "", tuple(self._before(call)), self._service(call.task),
        )  # fmt: skip

    def tools(self, tools: Sequence[ToolCall], task: str) -> Iterator[Span]:
        said = self._words.of_tools(tools) if self._words else {}
        for tool in tools:
            yield self._tool(tool, task, said.get(tool.id, {}))

    def _tool(self, tool: ToolCall, task: str, said: Attributes) -> Span:
        closed, status = ended(tool)
        failed = status in ("error", "timed_out")
        return Span(
            self._trace(task), span_id(tool), self._of(task), f"execute_tool {tool.name}".strip(), INTERNAL,
            tool.begun or tool.opened, max(closed, tool.begun or tool.opened),
            {
                "gen_ai.operation.name": "execute_tool",
                "openinference.span.kind": "TOOL",
                **self._who(self._tasks.get(task)),
                "gen_ai.tool.name": tool.name or None,
                "gen_ai.tool.call.id": tool.native or None,
                "gen_ai.tool.type": "function",
                "ramify.tool.id": tool.id,
                "ramify.tool.status": status,
                "ramify.open": None if closed else True,
                "error.type": ("timeout" if status == "timed_out" else "tool_error") if failed else None,
                **said,
            },
            ERROR if failed else OK if status == "ok" else UNSET, service=self._service(task),
        )  # fmt: skip

    # -- places ------------------------------------------------------------------------------------------------------------

    def _trace(self, task: str) -> bytes:
        root = self._roots.get(task)
        return trace_id(root or task)

    def _of(self, task: str) -> bytes:
        return span_id(self._tasks.get(task) or task)

    def _above(self, task: Task) -> bytes:
        """The tool call that gave it, else the task that did."""
        if not task.parent:
            return b""
        tool = self._store.load("tools", task.link.via_id) if task.link is not None and task.link.via_id else None
        if isinstance(tool, ToolCall):
            return span_id(tool)
        parent = self._tasks.get(task.parent) or self._store.load("tasks", task.parent)
        return span_id(parent if isinstance(parent, Task) else task.parent)

    def _links(self, task: Task) -> Iterator[SpanLink]:
        if task.id in self._tops and (above := self._above(task)):
            yield SpanLink(self._trace(task.id), above, link_attributes(task.link) if task.link else {})
        for one in task.refers:
            other = self._store.load("tasks", one.parent)
            if isinstance(other, Task):
                self._know([other.id])
                yield SpanLink(self._trace(other.id), self._of(other.id), link_attributes(one))

    def _before(self, call: Call) -> Iterator[SpanLink]:
        """The call that it goes on from, where that is another task's, or is not simply the one before."""
        if call.link is None or not call.parent or call.link.kind in ("", "spawned"):
            return
        other = self._store.load("calls", call.parent)
        if isinstance(other, Call) and other.task and (other.task != call.task or call.link.kind != "continued"):
            if other.task not in self._roots:
                self._know([other.task])
            yield SpanLink(self._trace(other.task), span_id(other), link_attributes(call.link))

    def _who(self, task: Task | None) -> Attributes:
        if task is None:
            return {}
        conversation = self._conversation(task)
        return {
            "gen_ai.agent.name": agent_of(task) or None,
            "gen_ai.agent.id": task.agent if task.agent and not task.agent.startswith("@") else None,
            "gen_ai.conversation.id": conversation,
            "session.id": conversation,
        }

    def _conversation(self, task: Task) -> str:
        """As its protocol calls it."""
        if task.conversation not in self._named:
            row = self._store.load("conversations", task.conversation)
            own = (row.session or row.context) if isinstance(row, Conversation) else ""
            self._named[task.conversation] = own or task.conversation
        return self._named[task.conversation]

    def _service(self, task: str) -> str:
        row = self._tasks.get(task)
        return (agent_of(row) if row is not None and row.protocol in NAMED else "") or "ramify"


def agent_of(task: Task) -> str:
    return task.agent_type or ("" if task.agent.startswith("@") or not task.protocol else task.agent)


def provider_of(call: Call) -> str | None:
    """By how its answers are named: whose they are behind an API that many speak, nobody says."""
    if call.message.startswith("msg_") or call.model.startswith("claude"):
        return "anthropic"
    return "openai" if call.message.startswith(("chatcmpl-", "resp_")) else None


def link_attributes(link: Link) -> Attributes:
    return {"ramify.link.kind": link.kind, "ramify.link.rule": link.rule, "ramify.link.certainty": float(link.certainty)}


def spent(call: Call) -> Attributes:
    """By the conventions, input holds what the cache read and wrote; ours does not."""
    usage = call.usage
    if usage == NOTHING:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write,
        "ramify.cost_usd": usage.cost_usd,
    }


def ended(tool: ToolCall) -> tuple[int, str]:
    if tool.closed or tool.told is None:
        return tool.closed, tool.status
    return tool.told.at, tool.told.status


def latest(task: Task, calls: Iterable[Call], tools: Iterable[ToolCall]) -> int:
    """The last sign of life."""
    return max(
        task.opened, task.active, task.last_ended, *(max(call.ended, call.started) for call in calls), *(ended(tool)[0] for tool in tools), 0
    )


def attempts(store: Store, calls: Sequence[Call]) -> dict[str, int]:
    """How often each was tried before."""
    firsts = sorted({call.attempt_of for call in calls if call.attempt_of})
    rows = [row for row in store.among("calls", "attempt_of", firsts) if isinstance(row, Call)]
    return {
        call.id: sum((row.started, row.id) <= (call.started, call.id) for row in rows if row.attempt_of == call.attempt_of)
        for call in calls
        if call.attempt_of
    }
