"""The AdCP client, by a stand-in of its shape (9.2.0 takes half a minute to import): methods that take a request, emit
activities that say too little, call each other, and carry their requests over another library."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import ramify
from ramify.capture.instruments.adcp_client import answered
from ramify.emit import Emitter, Memory
from ramify.emit.call import current_call


class TaskStatus(StrEnum):
    COMPLETED = "completed"
    SUBMITTED = "submitted"
    FAILED = "failed"


class Model(SimpleNamespace):
    """As much of pydantic as is used."""

    def model_dump(self, mode: str, exclude_none: bool = False) -> dict[str, Any]:
        return {name: dumped(value) for name, value in vars(self).items() if not (exclude_none and value is None)}

    def model_copy(self, update: dict[str, Any]) -> "Model":
        return type(self)(**(vars(self) | update))


def dumped(value: Any) -> Any:
    return value.model_dump("json", True) if isinstance(value, Model) else getattr(value, "value", value)


def result(data: Any = None, status: TaskStatus = TaskStatus.COMPLETED, **fields: Any) -> Model:
    return Model(**({"data": data, "status": status, "success": True, "error": None, "adcp_error": None, "metadata": None} | fields))


class ADCPClient:
    def __init__(self, answers: Any, on_activity: Any = None) -> None:
        self.agent_config = SimpleNamespace(id="seller", agent_uri="https://u:p@seller.test/mcp?k=1", protocol=SimpleNamespace(value="mcp"))
        self.on_activity = on_activity
        self.answers = answers
        self.sent: list[Any] = []

    def _activity(self, kind: str, task: str, status: Any = None) -> None:
        if self.on_activity:
            self.on_activity(Model(type=kind, operation_id="op_of_the_library", agent_id="seller", task_type=task, status=status, timestamp="t"))

    async def _ask(self, task: str, request: Any) -> Any:
        self._activity("protocol_request", task)
        self.sent.append(request)
        answer = await self.answers(request) if asyncio.iscoroutinefunction(self.answers) else self.answers
        if isinstance(answer, BaseException):
            raise answer
        self._activity("protocol_response", task, "completed")
        return answer

    async def get_adcp_capabilities(self, request: Any) -> Any:
        return await self._ask("get_adcp_capabilities", request)

    async def sync_creatives(self, request: Any, *, options: Any = None) -> Any:
        """Syncs."""
        await self.get_adcp_capabilities(Model())
        return await self._ask("sync_creatives", request)

    async def execute_task(self, task_name: str, request: Any) -> Any:
        return await getattr(self, task_name)(request)

    async def get_task_status(self, request: Any) -> Any:
        return await self._ask("get_task_status", request)

    async def list_tools(self) -> list[str]:
        return ["sync_creatives"]

    def push(self) -> None:
        self._activity("webhook_received", "sync_creatives", "completed")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """Instrumented, and at the end as it was before."""
    emitter, found = Emitter(), Memory()
    emitter.subscribe(found)
    originals = dict(vars(ADCPClient))
    module = ModuleType("adcp.client")
    module.ADCPClient = ADCPClient  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "adcp.client", module)
    with ramify.instrument(emitter=emitter):
        yield found
    assert {name: value for name, value in vars(ADCPClient).items() if callable(value)} == {
        name: value for name, value in originals.items() if callable(value)
    }
    assert emitter.stats()["unencodable"] == 0


SUBMITTED = result({"task_id": "task_1", "status": "submitted"})


async def test_what_was_only_submitted_is_told_as_submitted_with_its_ids(memory: Memory) -> None:
    client = ADCPClient(SUBMITTED)
    with ramify.operation("Sync", id="op_1"):
        assert await client.sync_creatives(Model(count=5, brand=None)) is SUBMITTED
    request, response = memory.events
    assert request.items() >= {
        "eventType": "protocol_request", "operationId": "op_1", "agentId": "seller", "taskType": "sync_creatives",
        "protocol": "mcp", "agentUri": "https://seller.test/mcp", "payload": {"params": {"count": 5}},
    }.items()
    assert response.items() >= {
        "eventType": "protocol_response", "status": "submitted", "agentTaskId": "task_1", "callId": request["callId"],
        "payload": {"task_id": "task_1", "status": "submitted"}, "success": True,
    }.items()
    assert "op_of_the_library" not in str(memory.events)


@pytest.mark.parametrize(
    ("answer", "status", "work", "transport"),
    [
        (result({"products": []}), "completed", None, None),
        (result({"status": "canceled", "media_buy_id": "m"}), "completed", None, None),
        (result(None, TaskStatus.FAILED, success=False, error="no"), "failed", None, None),
        (result({}, adcp_error={"code": "X"}), "failed", None, None),
        (result(None, TaskStatus.SUBMITTED, metadata={"task_id": "a2a_1", "status": "working"}), "working", "a2a_1", "a2a_1"),
        (result(None, TaskStatus.SUBMITTED, metadata={"task_id": "a2a_1", "status": "TASK_STATE_CANCELLED"}), "canceled", None, "a2a_1"),
        (result({"task_id": "t", "status": "submitted"}, metadata={"task_id": "a2a_1", "status": "completed"}), "submitted", "t", "a2a_1"),
        (result({"task_id": "t", "status": "input_required"}), "input-required", "t", None),
    ],
)
async def test_how_the_work_stands_is_read_from_data_then_metadata_then_the_client(
    memory: Memory, answer: Model, status: str, work: str | None, transport: str | None
) -> None:
    await ADCPClient(answer).sync_creatives(Model())
    response = memory.events[1]
    assert (response["status"], response.get("agentTaskId"), response.get("transportTaskId")) == (status, work, transport)


@pytest.mark.parametrize("problem", [TimeoutError("late"), ConnectionRefusedError("down"), asyncio.CancelledError()])
async def test_what_the_library_raises_is_told_and_raised_on(memory: Memory, problem: BaseException) -> None:
    with pytest.raises(type(problem)):
        await ADCPClient(problem).sync_creatives(Model())
    assert memory.events[1].items() >= {"eventType": "protocol_error", "raised": type(problem).__name__}.items()


async def test_methods_that_call_others_are_told_once_under_the_name_of_the_task(memory: Memory) -> None:
    await ADCPClient(SUBMITTED).execute_task("sync_creatives", Model())
    assert [event["taskType"] for event in memory.events] == ["sync_creatives", "sync_creatives"]
    assert await ADCPClient(SUBMITTED).list_tools() == ["sync_creatives"]
    assert len(memory) == 2


async def test_looking_how_work_stands_is_no_work(memory: Memory) -> None:
    with ramify.operation(id="op_1"):
        await ADCPClient(result({"task_id": "task_1", "status": "working"})).get_task_status(Model(task_id="task_1"))
        with suppress(TimeoutError):
            await ADCPClient(TimeoutError("late")).get_task_status(Model(task_id="task_1"))
    seen, lost = memory.events
    assert seen.items() >= {
        "kind": "poll", "op": "op_1", "agent": "seller", "method": "get_task_status", "success": True,
        "data": {"task_id": "task_1", "status": "working"},
    }.items()
    assert lost.items() >= {"kind": "poll", "raised": "TimeoutError", "message": "late"}.items()


async def test_pushes_say_our_operation_and_the_request_of_the_program_stays_as_it_is(memory: Memory) -> None:
    config = Model(url="https://me.test/hook", operation_id=None)
    request = Model(count=1, push_notification_config=config)
    client = ADCPClient(SUBMITTED)
    with ramify.operation(id="op_1"):
        await client.sync_creatives(request=request)
        await client.sync_creatives(Model(push_notification_config=Model(url="u", operation_id="own")))
    await client.sync_creatives(request)
    sent = [each.push_notification_config.operation_id for each in client.sent if hasattr(each, "push_notification_config")]
    assert sent == ["op_1", "own", memory.events[-1]["operationId"]]
    assert config.operation_id is None


async def test_activities_of_the_program_go_on_and_pushes_are_told(memory: Memory) -> None:
    theirs: list[Any] = []
    client = ADCPClient(SUBMITTED, on_activity=theirs.append)
    await client.sync_creatives(Model())
    assert [activity.type for activity in theirs] == ["protocol_request", "protocol_response"] * 2
    client.push()
    assert len(theirs) == 5
    assert memory.events[-1].items() >= {"kind": "activity", "op": None}.items()
    assert memory.events[-1]["activity"].items() >= {"type": "webhook_received", "operation_id": "op_of_the_library"}.items()


async def test_what_the_callback_of_the_program_raises_is_its_own_affair(memory: Memory) -> None:
    def broken(activity: Any) -> None:
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        await ADCPClient(SUBMITTED, on_activity=broken).sync_creatives(Model())
    assert memory.events[1]["raised"] == "KeyError"


async def test_calls_at_once_are_kept_apart_and_two_clients_may_call_each_other(memory: Memory) -> None:
    inner = ADCPClient(result({"inner": True}))

    async def answers(request: Any) -> Any:
        await asyncio.sleep(0.01)
        if getattr(request, "count", 0) == 2:
            await inner.sync_creatives(Model(count=-1))
        call = current_call()
        return result({"task_id": f"task_{getattr(request, 'count', 'x')}", "status": "submitted", "seen": call.id if call else None})

    client = ADCPClient(answers)
    await asyncio.gather(*(client.sync_creatives(Model(count=number)) for number in range(4)))
    asked = {event["callId"]: event["payload"]["params"]["count"] for event in memory.events if event["eventType"] == "protocol_request"}
    assert sorted(asked.values()) == [-1, 0, 1, 2, 3]
    for event in memory.events:
        if event["eventType"] == "protocol_response" and asked[event["callId"]] >= 0:
            assert event["agentTaskId"] == f"task_{asked[event['callId']]}"
            assert event["payload"]["seen"] == event["callId"]


async def test_arguments_that_do_not_fit_raise_what_they_always_raised(memory: Memory) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'request'"):
        await ADCPClient(SUBMITTED).sync_creatives()  # type: ignore[call-arg]
    assert asyncio.iscoroutinefunction(ADCPClient.sync_creatives)
    assert ADCPClient.sync_creatives.__doc__ == "Syncs."


def test_an_id_that_is_none_costs_no_answer() -> None:
    told = answered(result({"status": "submitted", "task_id": 17}, metadata={"task_id": "x" * 256, "context_id": ["c"], "status": "submitted"}))
    assert (told["status"], told.keys() & {"agent_task_id", "transport_task_id", "context_id"}) == ("submitted", set())
