"""A clock that somebody sets back or forth by hours, while things are captured."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ramify.app import Ramify
from ramify.capture.tee import Asked, Exchange, Watch
from ramify.ingest import Ingest
from ramify.model.observation import Observation, Request, Response
from ramify.storage.sqlite import open_sqlite
from tests.story import exchanges

HOUR = 3_600_000_000
NOON = 1_790_000_000_000_000


@dataclass
class Clocks:
    """A wall clock that can be set, and ticks that go on."""

    wall: int = NOON
    ticks: int = 0

    def pass_by(self, microseconds: int) -> None:
        self.wall += microseconds
        self.ticks += microseconds


@dataclass
class Sink:
    seen: list[Observation] = field(default_factory=list)

    def put(self, seen: Observation) -> int:
        self.seen.append(seen)
        return len(self.seen)


def captured(set_to: Callable[[Clocks], None]) -> tuple[Request, Response]:
    clocks, sink = Clocks(), Sink()
    watch = Watch(sink, lambda: clocks.wall, str, 1000, lambda: clocks.ticks)
    exchange = Exchange(Asked("obs_1", "default", "POST", "/v1/messages", ()), watch)
    clocks.pass_by(1_000)
    exchange.tell_request()
    set_to(clocks)
    clocks.pass_by(2_000)
    exchange.receive(b"x")
    clocks.pass_by(3_000)
    exchange.tell_response("complete")
    request, response = sink.seen
    assert isinstance(request, Request)
    assert isinstance(response, Response)
    return request, response


def test_an_exchange_lasts_as_long_as_it_lasted() -> None:
    for jump in (-5 * HOUR, 0, 5 * HOUR):

        def set_to(clocks: Clocks, jump: int = jump) -> None:
            clocks.wall += jump

        request, response = captured(set_to)
        assert (request.at, response.first_byte - request.at, response.at - request.at) == (NOON, 3_000, 6_000)


def moved(seen: Observation, by: int) -> Observation:
    from msgspec.structs import replace

    first = seen.first_byte + by if isinstance(seen, Response) and seen.first_byte else 0
    return replace(seen, at=seen.at + by, first_byte=first) if isinstance(seen, Response) else replace(seen, at=seen.at + by)


def test_sessions_across_a_jump_stay_whole_and_nothing_lasts_less_than_nothing(tmp_path: Path) -> None:
    """Each exchange is stamped by the clock of its moment; the numbers of the log are those of arrival."""
    for case in ("linear", "subtask-three-parallel"):
        told = exchanges("anthropic", case)
        shifts = [0 if at < len(told) // 2 else -6 * HOUR for at in range(len(told))]
        log = [moved(one, by) for pair, by in zip(told, shifts, strict=True) for one in pair]
        straight, jumped = Ramify.open("memory:", write=True), Ramify.open(f"sqlite:{tmp_path}/{case}.db", write=True)
        straight.ingest.step([one for pair in told for one in pair])
        for one in log:
            jumped.ingest.step([one])
        assert [seen for _, seen in jumped.store.observations()] == log
        tasks, wanted = jumped.questions.tasks(limit=0)["items"], straight.questions.tasks(limit=0)["items"]
        assert {task["id"]: task.get("parent") for task in tasks} == {task["id"]: task.get("parent") for task in wanted}
        shown = [*tasks, *jumped.questions.calls(limit=0)["items"]]
        assert all(one["duration_ms"] is None or one["duration_ms"] >= 0 for one in shown)
        assert jumped.rebuild(True, lambda done, total: None)["moved"] == []
        straight.close()
        jumped.close()


def test_a_lease_from_the_future_holds_nobody_up() -> None:
    ingest = Ingest(open_sqlite("memory:"))
    assert ingest.claim("lease:x", "one", NOON, NOON + HOUR)
    assert not ingest.claim("lease:x", "two", NOON + 1, NOON + HOUR + 1)
    back = NOON - 6 * HOUR  # by then its holder is gone
    assert ingest.claim("lease:x", "two", back, back + HOUR)
