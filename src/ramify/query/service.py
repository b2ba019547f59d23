"""The questions, by name. Answers are plain dictionaries in the shapes that the API and the terminal show."""

from collections.abc import Mapping
from typing import Any

from ramify.model.entity import Call, Conversation, Entity, Operation, Task, ToolCall
from ramify.model.observation import Request, Response
from ramify.model.steering import HALF
from ramify.query import at_hand, events, family, files, found_text, kept, operations, told
from ramify.query.ahead import ahead
from ramify.query.assembly import call_shapes, conversation_shapes, task_shapes, tool_shapes
from ramify.query.breakdown import breakdown
from ramify.query.cache import Pricer, list_price
from ramify.query.compared import compared
from ramify.query.content import AT_ONCE, Content
from ramify.query.errors import Ambiguous, BadQuestion, NotFound
from ramify.query.flags import USUAL, Patience
from ramify.query.lints.looking import Lints
from ramify.query.lists import Wanted, listed
from ramify.query.narrowed import narrowed
from ramify.query.outline import outline
from ramify.query.paging import ALL, cut, read_place, write_place
from ramify.query.reasons import why, why_all
from ramify.query.related import by_parent, related
from ramify.query.resolve import resolve
from ramify.query.runs import progress_under
from ramify.query.speech import (
    Reading,
    Speech,
    Thought,
    Unit,
    leftovers,
    moment,
    said_with,
    task_of,
    thought_with,
)
from ramify.query.statistics import read_dimensions, read_window, statistics
from ramify.query.totals import totals
from ramify.storage.base import Store, Test, Wish

Answer = dict[str, Any]
__all__ = ["Ambiguous", "Answer", "BadQuestion", "NotFound", "Questions"]
Around = tuple[tuple[str, str], ...]
"""Tables, and the column by which their rows belong to something."""
UNDER: Around = (("tasks", "parent"),)
SAID_BY: Around = (("calls", "task"), ("notes", "task"), ("messages", "line"))
WITHIN: Around = (("tasks", "conversation"), ("calls", "conversation"))


class Questions:
    """`tree=True` means with everything under it. Lists answer `{"items": [...], "next": cursor or None}`."""

    def __init__(self, store: Store, patience: Patience = USUAL, price: Pricer = list_price) -> None:
        self.store = store
        self.patience = patience
        self.price = price
        self.lints = Lints(store, patience, price)

    def within(self, projects: frozenset[str]) -> "Questions":
        """The same, for whom there is nothing but these."""
        return Questions(narrowed(self.store, projects), self.patience, self.price)

    def seq(self) -> int:
        return self.store.seq()

    # -- lists -------------------------------------------------------------------------------------------------------

    def conversations(
        self, *, limit: int = 50, cursor: str | None = None, project: str | None = None, filter: str | None = None
    ) -> Answer:
        wanted = Wanted(self.store, "conversations", _given(project=project), filter)
        return listed(wanted, lambda rows: conversation_shapes(self.store, rows), limit, cursor)

    def tasks(
        self, *, roots: bool = False, ids: list[str] | None = None, conversation: str | None = None,
        status: str | None = None, project: str | None = None, filter: str | None = None, limit: int = 50, cursor: str | None = None,
    ) -> Answer:
        if ids is not None:
            found = [row for row in self.store.among("tasks", "id", ids) if isinstance(row, Task)]
            under = family.descend(self.store, found)
            shapes = task_shapes(self.store, found, self.patience, under)
            return {"items": [{**shape, "progress": progress_under(shape["id"], under)} for shape in shapes], "next": None}
        where = _given(project=project, kind="root" if roots else None)
        if conversation:
            where["conversation"] = resolve(self.store, conversation, ("conversations",))[1].id
        wanted = Wanted(self.store, "tasks", where, filter, [Test("status", "is", (status,))] if status else ())
        return listed(wanted, lambda rows: task_shapes(self.store, rows, self.patience), limit, cursor)

    def calls(
        self, *, task: str | None = None, conversation: str | None = None, kind: str | None = None,
        status: str | None = None, project: str | None = None, filter: str | None = None, limit: int = 50, cursor: str | None = None,
    ) -> Answer:
        where = _given(project=project, kind=kind)
        if task:
            where["task"] = resolve(self.store, task, ("tasks",))[1].id
        if conversation:
            where["conversation"] = resolve(self.store, conversation, ("conversations",))[1].id
        wanted = Wanted(self.store, "calls", where, filter, [Test("status", "is", (status,))] if status else ())
        return listed(wanted, lambda rows: call_shapes(self.store, rows), limit, cursor)

    def operations(
        self, *, session: str | None = None, project: str | None = None, filter: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Answer:
        """Last updated first."""
        where = _given(project=project)
        if session is not None:
            found = events.sessions_named(self.store, project, session)
            if not found:
                return {"items": [], "next": None}
            where["session"] = found[0].id
        wanted = at_hand.WantedOperations(self.store, where, filter)
        return listed(wanted, lambda rows: [operations.operation_shape(row) for row in rows], limit, cursor)

    def events(
        self, *, session: str | None = None, project: str | None = None, limit: int = 50, cursor: str | None = None,
        **fields: str | None,
    ) -> Answer:
        """Of the event log, newest first; `fields` as `GET /api/events` names them."""
        given = {name: value for name, value in fields.items() if value is not None}
        return events.listed_events(self.store, project, session, given, limit, cursor)

    def task_events(self, id: str) -> Answer:
        return events.task_events(self.store, id)

    # -- one thing ---------------------------------------------------------------------------------------------------

    def conversation(self, id: str) -> Answer:
        row = self._conversation(id)
        return conversation_shapes(self.store, [row])[0]

    def task(self, id: str) -> Answer:
        task = self._task(id)
        is_top = task.kind == "root" and not task.parent
        around = [family.on_lines([task])] if is_top else family.wishes([task])
        store = ahead(self.store, *around, *(Wish(table, "task", [task.id]) for table in ("artifacts", "notes")))
        # Under a root lies most of its conversation: that is read at once, and not level by level.
        under = by_parent(related(store, task.conversation)) if is_top else None
        shape = task_shapes(store, [task], self.patience, under)[0]
        shape["artifacts"] = kept.artifacts_of(store, task)
        shape["feedback"] = kept.feedback_of(store, task)
        return shape

    def call(self, id: str) -> Answer:
        table, row = resolve(self.store, id, ("calls",))
        assert isinstance(row, Call), table
        return call_shapes(self.store, [row])[0]

    def body(self, id: str, side: str) -> tuple[bytes, list[tuple[str, str]]]:
        _, row = resolve(self.store, id, ("calls",))
        assert isinstance(row, Call)
        if side not in ("request", "response"):
            raise BadQuestion(f"a call has a request and a response, not {side!r}")
        seen = self.store.observation(row.request if side == "request" else row.response)
        if not isinstance(seen, Request | Response):
            if row.relation in ("seen", "told"):
                raise NotFound(f"call {id!r} was only reported ({', '.join(row.sources) or row.source}): nobody saw its {side} on the wire")
            raise NotFound(f"call {id!r} has no {side} yet")
        return seen.body, list(seen.headers)

    def show(self, id: str) -> Answer:
        """Whatever the id names, in its own shape; `entity` says what it is."""
        once = self._once()
        _, row = resolve(once.store, id, ("tasks", "conversations", "calls", "tools", "operations"))
        match row:
            case Task():
                return {"entity": "task", **once.task(row.id), **once.usage(row.id)}
            case Call():
                return {"entity": "call", **once.call(row.id)}
            case ToolCall():
                return {"entity": "tool", **once.tool(row.id)}
            case Operation():
                return {"entity": "operation", **operations.operation_shape(row)}
            case _:
                return {"entity": "conversation", **once.conversation(row.id), **once.usage(row.id)}

    def tool(self, call_id: str) -> Answer:
        _, row = resolve(self.store, call_id, ("tools",))
        assert isinstance(row, ToolCall)
        return tool_shapes(self.store, [row], Content(self.store))[0]

    # -- under one thing ---------------------------------------------------------------------------------------------

    def tree(self, id: str) -> Answer:
        once = self._once(id, UNDER, (("tasks", "conversation"), ("lines", "conversation")))
        table, row = resolve(once.store, id, ("tasks", "conversations", "calls", "tools", "operations"))
        if isinstance(row, Call | ToolCall):
            row = once.task_above(row)
        if isinstance(row, Task):
            return once._trees([row])[0]
        if isinstance(row, Operation):
            return once._operation_tree(row)
        assert isinstance(row, Conversation), table
        tasks = once._tasks_of(row.id)
        roots = [task for task in tasks if task.kind == "root"]
        return {
            "conversation": conversation_shapes(once.store, [row])[0],
            "roots": once._trees(roots),
            "unattached": once._trees(family.unattached(once.store, tasks, roots)),
        }

    def _operation_tree(self, row: Operation) -> Answer:
        """A task that hangs under one of another operation is a root of its own here."""
        tasks = operations.tasks_of(self.store, row)
        own = {task.id for task in tasks}
        roots = [task for task in tasks if task.parent not in own]
        return {"operation": operations.operation_shape(row), "roots": self._trees(roots), "unattached": []}

    def skeleton(self, id: str) -> Answer:
        seq = self.seq()
        _, row = resolve(self.store, id, ("tasks", "conversations", "calls", "tools"))
        if isinstance(row, Call | ToolCall):
            row = self.task_above(row)
        assert isinstance(row, Task | Conversation)
        return {"seq": seq, **outline(self.store, row, self.patience)}

    def subtasks(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer:
        """Of a task; of one model call or tool call, those that it started; of a conversation or an operation, those of its tasks."""
        row = self._named(id, ("tasks", "calls", "tools"), ("conversations", "operations"))
        if isinstance(row, Conversation | Operation):
            return self._subtasks_within(row, tree, limit, cursor)
        task = row if isinstance(row, Task) else self.task_above(row) if isinstance(row, Call | ToolCall) else None
        assert task is not None
        store = ahead(self.store, *family.wishes([task]))
        under = family.descend(store, [task])
        direct = under.get(task.id, [])
        if isinstance(row, Call):
            direct = [child for child in direct if child.caller == row.id]
        elif isinstance(row, ToolCall):
            direct = [child for child in direct if child.id == row.child or child.id in row.children]
        found = [one for child in direct for one in (child, *family.flat(under, child.id))] if tree else direct
        page, after = cut(found, limit, cursor)
        return {"items": task_shapes(store, page, self.patience, under), "next": after}

    def _subtasks_within(self, row: Conversation | Operation, tree: bool, limit: int, cursor: str | None) -> Answer:
        tasks = self._tasks_of(row.id) if isinstance(row, Conversation) else operations.tasks_of(self.store, row)
        tops = [task for task in tasks if task.kind == "root"] if isinstance(row, Conversation) else tasks
        under = family.descend(self.store, tops)
        direct = [child for task in tops for child in under.get(task.id, [])]
        found = [one for child in direct for one in (child, *family.flat(under, child.id))] if tree else direct
        page, after = cut(list({one.id: one for one in found}.values()), limit, cursor)
        return {"items": task_shapes(self.store, page, self.patience, under), "next": after}

    def tools(self, id: str, *, tree: bool = False, filter: str | None = None, limit: int = 50, cursor: str | None = None) -> Answer:
        once = self._once(id, UNDER if tree else (("calls", "task"), ("tools", "task")), WITHIN)
        calls = once._calls_of(id, tree)
        order = {call.id: (call.started, call.id) for call in calls}
        owners = once._owners(id, tree)
        asked, owned = once.store.gather([Wish("tools", "call", list(order)), Wish("tools", "task", owners)])
        rows = [row for row in asked if isinstance(row, ToolCall) and not row.task] + [row for row in owned if isinstance(row, ToolCall)]
        rows.sort(key=lambda tool: (order.get(tool.call, (tool.opened, "")) if not tool.task else (tool.opened, ""), tool.block, tool.id))
        if filter:
            fitting = at_hand.fitting_tools(once.store, filter, tool_shapes(once.store, rows, Content(once.store)))
            items, after = cut(fitting, limit, cursor)
            return {"items": items, "next": after, "looked": len(rows)}
        page, after = cut(rows, limit, cursor)
        return {"items": tool_shapes(once.store, page, Content(once.store)), "next": after}

    def artifacts(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer:
        """What a task produced, whole, oldest first."""
        row = self._named(id, ("tasks", "conversations"))
        page, after = cut(kept.artifact_rows(self.store, self._task_ids(row, tree)), limit, cursor)
        return {"items": [{"task": one.task, **kept.artifact_shape(self.store, one)} for one in page], "next": after}

    def _owners(self, id: str, tree: bool) -> list[str]:
        """Tasks whose tool calls are their own, and not a model call's."""
        row = self._named(id, ("tasks", "conversations", "calls"))
        return [] if isinstance(row, Call) else self._task_ids(row, tree)

    def calls_of(
        self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None, names: Mapping[str, str] | None = None
    ) -> Answer:
        """The model calls of a task, oldest first; a report of what the wire shows is left out."""
        rows, after = cut([call for call in self._calls_of(id, tree) if not (call.relation == "seen" and call.twin)], limit, cursor)
        return {"items": call_shapes(self.store, rows, names), "next": after}

    def messages(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer:
        once = self._once(id, UNDER if tree else SAID_BY, WITHIN)
        speech = Speech(once.store)
        return once._said(id, tree, limit, cursor, Reading(speech.messages, said_with, speech.content.expect))

    def reasoning(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None, histories: bool = True) -> Answer:
        once = self._once(id, UNDER if tree else SAID_BY, WITHIN)
        speech = Speech(once.store, histories)
        return once._said(id, tree, limit, cursor, Reading(speech.reasoning, thought_with, speech.content.expect))

    def _said(self, id: str, tree: bool, limit: int, cursor: str | None, reading: Reading) -> Answer:
        """The cursor names a unit (a call's worth, a reported message) and a place in it."""
        units = self._units_of(id, tree)
        named = sorted({task_of(unit) for unit in units})
        tasks = {task.id: task for task in self.store.among("tasks", "id", named)}
        start, skip = read_place(cursor)
        items: list[Answer] = []
        for index in range(start, len(units)):
            if (index - start) % AT_ONCE == 0:
                reading.expect(one for unit in units[index : index + AT_ONCE] for one in reading.stands_in(unit))
            found = reading.read(units, index, tasks)
            room = (limit or ALL) - len(items)
            fresh = found[skip:]
            items += fresh[:room]
            if len(fresh) > room:
                return {"items": items, "next": write_place(index, skip + room)}
            skip = 0
            if len(items) >= (limit or ALL) and index + 1 < len(units):
                return {"items": items, "next": write_place(index + 1, 0)}
        return {"items": items, "next": None}

    def _units_of(self, id: str, tree: bool) -> list[Unit]:
        """What was said, in order: by calls that the wire showed, and by reports."""
        row = self._named(id, ("tasks", "conversations", "calls"))
        ids = [] if isinstance(row, Call) else self._task_ids(row, tree)
        self.store.gather([Wish("tasks", "id", ids), *(Wish(table, column, ids) for table, column in SAID_BY)])
        calls = [call for call in self._calls_of(id, tree) if call.relation != "seen" and not call.protocol]
        if isinstance(row, Call):
            rows = told.units(self.store, [row.task]) if row.relation == "seen" else []
            reports = [unit for unit in rows if unit.rows[0].answer == row.message]
            return sorted([*calls, *reports], key=moment)
        tasks = [task for task in self.store.among("tasks", "id", ids) if isinstance(task, Task)]
        noted = [Thought(note) for note in kept.notes_of(self.store, ids, kept.REASONING)]
        return sorted([*calls, *told.units(self.store, ids), *noted, *leftovers(self.store, tasks)], key=moment)

    def _task_ids(self, row: Entity, tree: bool) -> list[str]:
        if isinstance(row, Conversation):
            return [task.id for task in self._tasks_of(row.id)]
        assert isinstance(row, Task | Operation)
        tasks = [row] if isinstance(row, Task) else operations.tasks_of(self.store, row)
        under = family.gathered(self.store, tasks) if tree else {}
        return list(dict.fromkeys(one.id for task in tasks for one in (task, *family.flat(under, task.id))))

    def usage(self, id: str) -> Answer:
        """The tokens of a tree by model and by type of agent."""
        once = self._once()
        _, row = resolve(once.store, id, ("tasks", "conversations"))
        ids = once._task_ids(row, tree=True)
        return breakdown(once.store, [task for task in once.store.among("tasks", "id", ids) if isinstance(task, Task)])

    def files(self, id: str) -> dict[str, int]:
        """For every task of a tree, how many files the tools of it and of those under it were about."""
        _, row = resolve(self.store, id, ("tasks", "conversations", "calls"))
        task = self.task_above(row) if isinstance(row, Call) else row
        roots = self._tasks_of(task.id) if isinstance(task, Conversation) else [task] if isinstance(task, Task) else []
        return files.count(self.store, roots)

    def compare(self, a: str, b: str) -> Answer:
        """Two runs, each by any id of it: aligned, with where they part and what each spent since."""
        return compared(self.store, self._run(a), self._run(b))

    def _run(self, id: str) -> Task:
        """The task of what the id names; of a conversation, its first prompt."""
        _, row = resolve(self.store, id, ("tasks", "conversations", "calls", "tools"))
        if isinstance(row, Call | ToolCall):
            return self.task_above(row)
        if isinstance(row, Task):
            return row
        roots = [task for task in self._tasks_of(row.id) if task.kind == "root"]
        if not roots:
            raise NotFound(f"conversation {id!r} has no task to compare")
        return roots[0]

    def why(self, id: str) -> Answer:
        """Every link with rule, certainty and evidence, who witnessed it, and the candidates that lost."""
        _, row = resolve(self.store, id)
        return why_all(row, self._tasks_of(row.id)) if isinstance(row, Conversation) else why(self.store, row)

    def search(self, text: str, *, limit: int = 50, cursor: str | None = None) -> Answer:
        return found_text.search(self.store, text, limit or ALL, cursor)

    def stats(self) -> Answer:
        return totals(self.store)

    def lint(
        self, id: str | None = None, *, check: str | None = None, limit: int = 50, cursor: str | None = None, project: str | None = None
    ) -> Answer:
        """What people should look at: in one run, or in those that were active last, `limit` runs at a time."""
        return self.lints.of(id, check) if id else self.lints.recent(limit or ALL, cursor, project, check)

    def statistics(
        self, by: str, since: str | None = None, until: str | None = None, *, project: str | None = None, limit: int = ALL
    ) -> Answer:
        """Sums of whole days by day, project, agent, model or tool, several with commas between them."""
        window = read_window(since, until, self.patience.clock())
        return statistics(self.store, read_dimensions(by), window, project, limit)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _once(self, id: str = "", task: Around = (), conversation: Around = ()) -> "Questions":
        """For an answer that is made of several: what one of them has read is known to the others. What a whole id of ours names is
        read together with what belongs to it, by the columns that name the task or the conversation."""
        table, around = ("tasks", task) if id.startswith("task_") else ("conversations", conversation) if id.startswith("conv_") else ("", ())
        wishes = [Wish(table, "id", [id]), *(Wish(other, column, [id]) for other, column in around)] if around and not HALF.search(id) else []
        return Questions(ahead(self.store, *wishes), self.patience, self.price)

    def _named(self, id: str, first: tuple[str, ...], otherwise: tuple[str, ...] = ("operations",)) -> Entity:
        """An id that is one of the first is not taken for anything else."""
        try:
            return resolve(self.store, id, first)[1]
        except NotFound as unknown:
            try:
                return resolve(self.store, id, otherwise)[1]
            except NotFound:
                raise unknown from None

    def _task(self, id: str) -> Task:
        _, row = resolve(self.store, id, ("tasks",))
        assert isinstance(row, Task)
        return row

    def _conversation(self, id: str) -> Conversation:
        _, row = resolve(self.store, id, ("conversations",))
        assert isinstance(row, Conversation)
        return row

    def task_above(self, row: Call | ToolCall) -> Task:
        if isinstance(row, ToolCall) and isinstance(owner := self.store.load("tasks", row.task), Task):
            return owner
        call = row if isinstance(row, Call) else self.store.load("calls", row.call)
        task = self.store.load("tasks", call.task) if isinstance(call, Call) else None
        if not isinstance(task, Task):
            raise NotFound(f"{row.id!r} belongs to no task")
        return task

    def _tasks_of(self, conversation: str) -> list[Task]:
        rows = self.store.among("tasks", "conversation", [conversation])
        return sorted((row for row in rows if isinstance(row, Task)), key=lambda task: (task.opened, task.id))

    def _calls_of(self, id: str, tree: bool) -> list[Call]:
        """The calls of a task (or of everything under it), of a conversation or an operation, oldest first."""
        row = self._named(id, ("tasks", "conversations", "calls"))
        if isinstance(row, Call):
            return [row]
        if isinstance(row, Conversation):
            rows = self.store.among("calls", "conversation", [row.id])
        else:
            rows = self.store.among("calls", "task", self._task_ids(row, tree))
        return sorted((call for call in rows if isinstance(call, Call)), key=lambda call: (call.started, call.id))

    def _trees(self, roots: list[Task]) -> list[Answer]:
        children = [task for task in self.store.among("tasks", "parent", [task.id for task in roots]) if isinstance(task, Task)]
        store = ahead(self.store, *family.wishes([*roots, *children]))
        under = family.descend(store, roots)
        every = [*roots, *(task for tasks in under.values() for task in tasks)]
        shapes = {shape["id"]: shape for shape in task_shapes(store, every, self.patience, under)}
        for task in every:
            shapes[task.id]["children"] = [shapes[child.id] for child in under.get(task.id, [])]
        return [shapes[task.id] for task in roots]


def _given(**where: str | None) -> dict[str, str]:
    return {column: value for column, value in where.items() if value is not None}
