"""The five questions about a task, for Python programs: the same answers as the command line's and the API's, as data classes."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from os import environ
from types import TracebackType
from typing import Any, TypeVar

from ramify.query import flow
from ramify.query.errors import Ambiguous, NotFound
from ramify.query.records import ReasoningBlock, SubtaskInfo, TaskFlow, ToolCall, ToolCallWithIO
from ramify.query.service import Answer, Questions
from ramify.settings import load
from ramify.storage.opening import open_store

Found = TypeVar("Found")
PAGE = 1000


class TaskQueryService:
    """Any id will do: Ramify's own, the protocol's, or `protocol:kind:value`. Unknown ids raise NotFound, ids that fit
    several things Ambiguous; a known task without tool calls, reasoning or sub-tasks answers an empty list."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions

    @classmethod
    def open(cls, url: str | None = None) -> "TaskQueryService":
        """A store that is there; without an address the one that the settings name."""
        return cls(Questions(open_store(url or load({}, environ).store, create=False)))

    def close(self) -> None:
        self.questions.store.close()

    def __enter__(self) -> "TaskQueryService":
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def get_tool_calls_by_task(self, task_id: str, *, include_subtasks: bool = False) -> list[ToolCall]:
        """The task's own calls by time; with `include_subtasks` those of the whole tree."""
        id = self.questions.task(task_id)["id"]
        found = flow.every(lambda cursor: self.questions.tools(id, tree=include_subtasks, limit=PAGE, cursor=cursor))
        names = self._names(found)
        return sorted((tool_call(tool, names) for tool in found), key=lambda call: (call.timestamp is None, call.timestamp))

    def get_tool_call_with_io(self, call_id: str, *, task_id: str | None = None) -> ToolCallWithIO:
        """Exactly one; `task_id` narrows an id that fits several."""
        tool = self._tool(call_id, self.questions.task(task_id)["id"] if task_id is not None else None)
        names = self._names([tool])
        blocks = self.questions.reasoning(tool["task"], limit=0)["items"] if tool["task"] else []
        turn = [reasoning_block(block, names) for block in blocks if tool["call"] and block["call"] == tool["call"]]
        plain = tool_call(tool, names)
        return ToolCallWithIO(
            **vars(plain), input=plain.args, output=plain.result, output_text=result_text(plain.result),
            result_source=tool["result_source"], reasoning=turn,
        )  # fmt: skip

    def get_reasoning_for_task(
        self, task_id: str, *, kinds: Sequence[str] | None = None, include_subtasks: bool = False
    ) -> list[ReasoningBlock]:
        id = self.questions.task(task_id)["id"]
        found = flow.every(lambda cursor: self.questions.reasoning(id, tree=include_subtasks, limit=PAGE, cursor=cursor))
        names = self._names(found)
        return [reasoning_block(block, names) for block in found if kinds is None or block["kind"] in kinds]

    def get_subtasks(self, task_id: str, *, recursive: bool = False) -> list[SubtaskInfo]:
        """Direct children in spawning order, also those that never answered, still run, failed or outlived their parent."""
        id = self.questions.task(task_id)["id"]
        tasks = flow.subtree(self.questions, id)
        found = subtasks(id, tasks, flow.Told(self.questions, id, tasks))
        return [one for one in found if recursive or one.depth == 1]

    def get_complete_task_flow(self, task_id: str) -> TaskFlow:
        """Of the task and everything under it; asked with a sub-task, of that subtree."""
        task = self.questions.task(task_id)
        tasks = flow.subtree(self.questions, task["id"])
        told = flow.Told(self.questions, task["id"], tasks)
        answer = flow.put_together(task, tasks, told)
        names = {id: own_id(one) for id, one in tasks.items()}
        calls = sorted((tool_call(tool, names) for tool in told.tools), key=lambda call: (call.timestamp is None, call.timestamp))
        names_of_calls = {call.ref: call.id for call in calls}
        return TaskFlow(
            task_id=own_id(task), context_id=self._context(task), agent_name=flow.name_of(task), status=task["status"],
            started_at=moment(task["opened"]), ended_at=moment(task["closed"]), request_text=task["prompt"],
            final_text=answer["final_text"], timeline=[own_words(event, names) for event in answer["events"]], usage=task["usage"], tree_usage=task["tree_usage"],
            open_items=[names.get(id) or names_of_calls[id] for id in answer["open"]], feedback=answer["feedback"], tool_calls=calls,
            reasoning=[reasoning_block(block, names) for block in told.reasoning], subtasks=subtasks(task["id"], tasks, told),
        )  # fmt: skip

    def _context(self, task: Answer) -> str | None:
        if not task["conversation"]:
            return None
        refs = self.questions.conversation(task["conversation"])["refs"]
        return str(refs[0]["value"]) if refs else str(task["conversation"])

    def _names(self, shapes: list[Answer]) -> dict[str, str]:
        """The protocol's ids of all tasks that these belong to or started."""
        ids = {shape["task"] for shape in shapes if shape["task"]} | {child for shape in shapes for child in shape.get("spawned", ())}
        return {task["id"]: own_id(task) for task in self.questions.tasks(ids=sorted(ids))["items"]}

    def _tool(self, call_id: str, task: str | None) -> Answer:
        try:
            found = [self.questions.tool(call_id)]
        except Ambiguous as several:
            found = [self.questions.tool(one["id"]) for one in several.candidates if one["kind"] == "tool call"]
            if not found:
                raise
        fitting = [tool for tool in found if task is None or tool["task"] == task]
        if not fitting:
            raise NotFound(f"the tool call {call_id!r} is none of that task")
        if len(fitting) > 1:
            names = self._names(fitting)
            fitting.sort(key=lambda tool: (tool["timestamp"] or "", tool.get("occurrence") or 0, tool["id"]))
            raise Ambiguous(f"{call_id!r} fits {len(fitting)} tool calls", [candidate(tool, names) for tool in fitting])
        return fitting[0]


class AsyncTaskQueryService:
    """The same for asynchronous programs: each question is answered in a thread, and the loop goes on."""

    def __init__(self, service: TaskQueryService) -> None:
        self.service = service
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="ramify-query")

    @classmethod
    async def open(cls, url: str | None = None) -> "AsyncTaskQueryService":
        return cls(await asyncio.to_thread(TaskQueryService.open, url))

    async def close(self) -> None:
        await self._ask(self.service.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> "AsyncTaskQueryService":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def get_tool_calls_by_task(self, task_id: str, *, include_subtasks: bool = False) -> list[ToolCall]:
        return await self._ask(partial(self.service.get_tool_calls_by_task, task_id, include_subtasks=include_subtasks))

    async def get_tool_call_with_io(self, call_id: str, *, task_id: str | None = None) -> ToolCallWithIO:
        return await self._ask(partial(self.service.get_tool_call_with_io, call_id, task_id=task_id))

    async def get_reasoning_for_task(
        self, task_id: str, *, kinds: Sequence[str] | None = None, include_subtasks: bool = False
    ) -> list[ReasoningBlock]:
        return await self._ask(partial(self.service.get_reasoning_for_task, task_id, kinds=kinds, include_subtasks=include_subtasks))

    async def get_subtasks(self, task_id: str, *, recursive: bool = False) -> list[SubtaskInfo]:
        return await self._ask(partial(self.service.get_subtasks, task_id, recursive=recursive))

    async def get_complete_task_flow(self, task_id: str) -> TaskFlow:
        return await self._ask(partial(self.service.get_complete_task_flow, task_id))

    async def _ask(self, question: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def own_id(task: Answer) -> str:
    """As the task's protocol writes it. An agent's id names the run of a sub-agent; a session is more than one task."""
    for kind in ("task", "agent"):
        for ref in task["refs"]:
            if ref["kind"] == kind:
                return str(ref["value"])
    return str(task["id"])


def own_words(event: Answer, names: dict[str, str]) -> Answer:
    """An event of the flow, with tasks as their protocol names them."""
    return {**event, "task": names.get(event["task"] or "", event["task"]), "id": names.get(event["id"] or "", event["id"])}


def tool_call(tool: Answer, names: dict[str, str]) -> ToolCall:
    args = tool["args"]
    failed = tool["status"] not in ("ok", "running")
    return ToolCall(
        id=tool["call_id"], name=tool["name"], type=tool["type"],
        args=args if isinstance(args, dict) else {} if args is None else {"value": args},
        result=tool["result"], timestamp=moment(tool["timestamp"]), agent_name=tool["agent_name"],
        task_id=names.get(tool["task"] or "", tool["task"]), occurrence=tool.get("occurrence") or 1, phases=tool["phases"],
        status=tool["status"], started_at=moment(tool["started"] if "started" in tool else tool["timestamp"]), ended_at=moment(tool["closed"]), duration_ms=tool["duration_ms"],
        child_task_ids=[names.get(child, child) for child in tool["spawned"]], synthetic=tool.get("synthetic", False),
        error=tool.get("error") or ((result_text(tool["result"]) or tool["status"]) if failed else None), ref=tool["id"],
    )  # fmt: skip


def result_text(result: Any) -> str | None:
    """The words of a result; where it only wraps `data` without any, that as JSON."""
    words = words_of(result)
    if words is None and isinstance(result, dict) and result.get("data") is not None:
        return json.dumps(result["data"], ensure_ascii=False)
    return words


def words_of(result: Any) -> str | None:
    """Itself, its text blocks, or what an answer of another agent wraps."""
    match result:
        case str():
            return result
        case list():
            texts = [block["text"] for block in result if isinstance(block, dict) and isinstance(block.get("text"), str)]
            return "\n".join(texts) if texts else None
        case {"kind": "task", "status": {"message": {"parts": list(parts)}}}:
            return words_of(parts)
        case dict():
            inner = (words_of(result[key]) for key in ("data", "result", "text", "message") if key in result)
            return next((text for text in inner if text is not None), None)
        case _:
            return None


def reasoning_block(block: Answer, names: dict[str, str]) -> ReasoningBlock:
    return ReasoningBlock(
        message_id=block["message_id"], timestamp=moment(block["timestamp"]), agent_name=block["agent_name"],
        conversation_history=block["conversation_history"] or [], model=block["model"],
        task_id=names.get(block["task"] or "", block["task"]), kind=block["kind"], text=block["text"], withheld=block["withheld"],
        message_ids=block.get("message_ids") or [one for one in [block["message_id"]] if one],
        history_delta=block.get("history_delta") or [],
    )  # fmt: skip


def subtasks(asked: str, tasks: flow.Tasks, told: flow.Told) -> list[SubtaskInfo]:
    names = {id: own_id(task) for id, task in tasks.items()}
    said = Counter(message["task"] for message in told.messages)
    used: dict[str, list[ToolCall]] = {}
    for tool in told.tools:
        used.setdefault(tool["task"], []).append(tool_call(tool, names))
    found = [(id, subtask(task, tasks, names)) for id, task in tasks.items() if id != asked]
    above = tasks[asked]["depth"]
    return [
        replace(one, depth=one.depth - above, num_messages=tasks[id]["native"].get("messages", said[id]), tool_calls=used.get(id, []))
        for id, one in found
    ]


def subtask(task: Answer, tasks: flow.Tasks, names: dict[str, str]) -> SubtaskInfo:
    """Without what is counted over the whole tree."""
    call, delegator = given_by(task, tasks.get(task["parent"] or ""))
    return SubtaskInfo(
        task_id=names[task["id"]], parent_task_id=names.get(task["parent"] or "", task["parent"]), agent_name=flow.name_of(task),
        num_messages=0, started_at=moment(task["opened"]), ended_at=moment(task["closed"]), tool_calls=[], status=task["status"],
        function_call_id=call, delegating_agent_name=delegator,
        depth=task["depth"], native_status=task["native_status"], usage=task["usage"], node_id=task["native"].get("node_id"),
    )  # fmt: skip


def given_by(task: Answer, parent: Answer | None) -> tuple[str | None, str | None]:
    """The call and the agent. Where requests say so themselves, only what they say: a workflow's node has neither."""
    if any(ref["protocol"] == "sam" for ref in task["refs"]):
        return task["native"].get("function_call_id"), task["native"].get("delegating_agent_name")
    return (task["link"] or {}).get("via"), flow.name_of(parent)


def candidate(tool: Answer, names: dict[str, str]) -> dict[str, Any]:
    call = tool_call(tool, names)
    return {
        "ref": call.ref, "id": call.id, "task_id": call.task_id, "occurrence": call.occurrence, "name": call.name,
        "agent_name": call.agent_name, "timestamp": tool["timestamp"],
    }  # fmt: skip
