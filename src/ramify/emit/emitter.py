"""`Emitter`: tells subscribers what a program asked of agents and what came of it. It never waits and never raises."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, overload
from weakref import finalize

from ramify.emit import ending
from ramify.emit.call import Call, told
from ramify.emit.callback import Callback, inside
from ramify.emit.item import emitted
from ramify.emit.memory import Memory
from ramify.emit.scope import Scope, current
from ramify.emit.subscription import LIMIT, LIMIT_BYTES, Sink, Subscription

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger("ramify")
Subscriber = Callable[[dict[str, Any]], Any]
FLUSH_SECONDS = 5.0


class Emitter:
    def __init__(self) -> None:
        self.unencodable = 0
        self._memories: tuple[Memory, ...] = ()
        self._queues: tuple[Subscription, ...] = ()
        self._leaving: tuple[Subscription, ...] = ()  # unsubscribed, with something to deliver still
        self._turn = threading.RLock()
        self._heard = False  # by anybody: looked at first, so that an emitter without subscribers costs nothing
        ending.watch_emitter(self)

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens: what is only made for events need not be made otherwise."""
        return self._heard

    # -- events -------------------------------------------------------------------------------------------------------

    def emit(self, event: Mapping[str, Any], *, session: str | None = None) -> None:
        """Tells of an event, as it is now: what the caller changes later does not show. Missing ids, the time and what
        the context knows are filled in."""
        if self._heard:
            scope = current()
            self.tell(lambda: event, scope if session is None else scope._replace(session=session))

    def tell(self, make: Callable[[], Mapping[str, Any]], scope: Scope | None = None) -> None:
        """The same for an event that is made only if anybody listens, and whose making may fail."""
        if not self._heard:
            return
        try:
            before = inside.get()
            item = emitted(make(), scope or current(), before)
            for memory in self._memories:
                memory.put(item)
            for queue in self._queues:
                if queue.sink not in before:
                    queue.put(item)
        except Exception as problem:
            self._missed(problem)

    def request(self, agent_id: str, task_type: str, *, params: Any = None, headers: Any = None, **fields: Any) -> None:
        """`protocol_request`. `method` is the task type unless it is given; so is `protocol`, `call_id`, and the rest."""
        if self._heard:
            payload = {"params": params} if headers is None else {"params": params, "headers": headers}
            self._tell("protocol_request", agent_id, task_type, {"method": task_type, "payload": payload}, fields)

    def response(self, agent_id: str, task_type: str, payload: Any = None, *, status: str = "completed", **fields: Any) -> None:
        """`protocol_response`, with the whole answer."""
        if self._heard:
            self._tell("protocol_response", agent_id, task_type, {"method": task_type, "payload": payload, "status": status}, fields)

    def status(self, agent_id: str, task_type: str, status: str, **fields: Any) -> None:
        """`status_update`: also `agent_task_id`, `previous_status`, `result`, `error`."""
        if self._heard:
            self._tell("status_update", agent_id, task_type, {"status": status}, fields)

    def error(self, agent_id: str, task_type: str, problem: BaseException | str, **fields: Any) -> None:
        """`protocol_error`: no answer came. `raised` is the class of what was raised instead."""
        if self._heard:
            self._tell("protocol_error", agent_id, task_type, {"method": task_type, **told(problem)}, fields)

    def object(self, object_type: str, target_entity: str, status: str, **fields: Any) -> None:
        """What a task made or changed: also `object_id`, `agent_task_id`, `payload`."""
        if self._heard:
            self.emit({"object_type": object_type, "target_entity": target_entity, "status": status, **fields})

    def call(self, agent_id: str, task_type: str | None = None, **fields: Any) -> Call:
        """A call of an agent, as a `with` block or around a function of any kind: a request, then a response or an
        error. Without a task type, the function's name."""
        return Call(self, agent_id, task_type, fields)

    def _tell(self, kind: str, agent_id: str, task_type: str, own: dict[str, Any], fields: dict[str, Any]) -> None:
        event = {"eventType": kind, "agentId": agent_id, "taskType": task_type, **own, **fields}
        self.emit(event, session=event.pop("session", None))

    def _missed(self, problem: Exception) -> None:
        self.unencodable += 1
        if self.unencodable == 1:
            log.warning("an event cannot be told: %r", problem)

    # -- subscribers --------------------------------------------------------------------------------------------------

    @overload
    def subscribe(self, subscriber: Memory) -> Memory: ...
    @overload
    def subscribe(
        self,
        subscriber: "Subscriber | Sink",
        *,
        name: str | None = None,
        loop: "asyncio.AbstractEventLoop | None" = None,
        limit: int = LIMIT,
        limit_bytes: int = LIMIT_BYTES,
    ) -> Subscription: ...
    def subscribe(
        self,
        subscriber: "Subscriber | Sink | Memory",
        *,
        name: str | None = None,
        loop: "asyncio.AbstractEventLoop | None" = None,
        limit: int = LIMIT,
        limit_bytes: int = LIMIT_BYTES,
    ) -> "Subscription | Memory":
        """A function, sync or async, that is told of every event from now on; or a place where events go to.

        An `async` function is awaited in a loop of its own, or in `loop`.
        """
        if isinstance(subscriber, Memory):
            with self._turn:
                self._memories = (*self._memories, subscriber)
                self._heard = True
            return subscriber
        if callable(subscriber):
            sink: Sink = Callback(subscriber, loop)
        else:
            sink = subscriber
        found = Subscription(sink, name or name_of(subscriber), limit, limit_bytes)
        ending.watch_queue(found)
        finalize(self, found.stop, discards=False).atexit = False  # nobody can be told any more: the thread may end
        with self._turn:
            self._queues = (*self._queues, found)
            self._heard = True
        return found

    def unsubscribe(self, given: Any) -> bool:
        """By what was subscribed, or what `subscribe` gave. A function is not called again; a place gets what waits.
        False where there is no such subscriber."""
        with self._turn:
            self._memories, memories = split(self._memories, lambda one: one is given)
            self._queues, queues = split(self._queues, lambda one: given in (one, one.sink, getattr(one.sink, "function", None)))
            self._heard = bool(self._memories or self._queues)
            for queue in queues:
                queue.stop(discards=isinstance(queue.sink, Callback))
            self._leaving = tuple(queue for queue in (*self._leaving, *queues) if queue.waiting)
        return bool(memories or queues)

    def flush(self, timeout: float = FLUSH_SECONDS, patience: float | None = None) -> bool:
        """Waits until every event so far was delivered; at most so long, and at most `patience` for a place where nobody
        answers. A subscriber that asks does not wait for itself."""
        end = time.monotonic() + timeout
        done = [queue.flush(max(0.0, end - time.monotonic()), patience) for queue in (*self._queues, *self._leaving)]
        return all(done)

    async def aflush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """The same, without holding up the loop."""
        import asyncio

        return await asyncio.to_thread(self.flush, seconds)

    def close(self, timeout: float = FLUSH_SECONDS) -> bool:
        """Flushes, and lets every subscriber go. True when nothing was left behind."""
        done = self.flush(timeout)
        with self._turn:
            queues = (*self._queues, *self._leaving)
            self._queues, self._leaving, self._memories, self._heard = (), (), (), False
        for queue in queues:
            queue.stop(discards=True)
        return done

    def stats(self) -> dict[str, Any]:
        """What became of the events, subscriber by subscriber: nothing is lost without being counted here."""
        rows = [queue.stats() for queue in (*self._queues, *self._leaving)]
        rows += [{"name": "memory", "taken": one.taken, "delivered": one.taken, "dropped": one.dropped} for one in self._memories]
        return {"unencodable": self.unencodable, "dropped": sum(row["dropped"] for row in rows), "subscribers": rows}

    @property
    def waiting(self) -> int:
        return sum(queue.waiting for queue in (*self._queues, *self._leaving))

    def renew(self) -> None:
        """After a fork, in the child."""
        self._turn = threading.RLock()
        for memory in self._memories:
            memory.renew()
        self._leaving = ()

    def __enter__(self) -> "Emitter":
        return self

    def __exit__(self, *problem: Any) -> None:
        self.close()


def name_of(subscriber: object) -> str:
    return str(getattr(subscriber, "__qualname__", None) or type(subscriber).__name__)


def split(values: tuple[Any, ...], fits: Callable[[Any], bool]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(one for one in values if not fits(one)), tuple(one for one in values if fits(one))
