"""Nothing waits for a destination but the outbox's own thread; what it cannot hold is counted."""

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from ramify.capture import outbox as module
from ramify.capture.outbox import Away, Outbox
from ramify.model.observation import Record

SECONDS = 10.0


def seen(number: int, body: bytes = b"{}") -> Record:
    return Record(f"obs_{number}", "default", number, "stream", "sdk", f"sdk-1:{number}", body)


class Gate:
    """A destination that takes nothing until it is opened, and may be away."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.entered = threading.Event()
        self.open = threading.Event()
        self.problems: Iterator[Exception] = iter(())
        self.settled = 0

    def send(self, batch: Sequence[Record]) -> None:
        self.entered.set()
        assert self.open.wait(SECONDS)
        for problem in self.problems:
            raise problem
        self.taken += [record.id for record in batch]

    def settle(self, seconds: float) -> bool:
        self.settled += 1
        return True


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def test_what_is_put_arrives_in_order(gate: Gate) -> None:
    gate.open.set()
    outbox = Outbox(lambda: gate)
    for number in range(1000):
        outbox.put(seen(number))
    assert outbox.flush(SECONDS)
    assert gate.taken == [f"obs_{number}" for number in range(1000)]
    assert gate.settled == 1


def test_putting_never_waits_for_a_slow_destination_and_what_does_not_fit_is_said_once(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """The gate is closed until all was put: if putting waited for it, this would never end."""
    outbox = Outbox(lambda: gate, limit=10)
    outbox.put(seen(0))
    assert gate.entered.wait(SECONDS)
    for number in range(1, 31):
        outbox.put(seen(number))
    assert (outbox.waiting, outbox.dropped) == (11, 20)
    assert [record.message for record in caplog.records] == [
        "records are lost: records come faster than they can be stored"
    ]
    gate.open.set()
    assert outbox.flush(SECONDS)
    assert gate.taken == [f"obs_{number}" for number in range(11)]


def test_a_queue_is_bounded_by_its_size_too(gate: Gate) -> None:
    outbox = Outbox(lambda: gate, limit_bytes=10_000)
    for number in range(4):
        outbox.put(seen(number, b"x" * 3000))
    assert outbox.dropped >= 1
    gate.open.set()
    assert outbox.flush(SECONDS)


def test_waiting_is_bounded_when_nothing_moves(gate: Gate) -> None:
    outbox = Outbox(lambda: gate)
    outbox.put(seen(0))
    assert gate.entered.wait(SECONDS)
    assert not outbox.flush(0.01)
    gate.open.set()
    assert outbox.flush(SECONDS)


def test_whoever_is_away_gets_the_same_batch_when_it_is_back(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    gate.problems = iter([Away("not here"), Away("not here"), Away("not yet")])
    gate.open.set()
    outbox = Outbox(lambda: gate)
    outbox.put(seen(0))
    assert outbox.flush(SECONDS)
    assert (gate.taken, outbox.dropped) == (["obs_0"], 0)


def test_a_bug_costs_one_batch_and_not_the_next(gate: Gate) -> None:
    gate.problems = iter([ZeroDivisionError("a bug")])
    gate.open.set()
    outbox = Outbox(lambda: gate)
    outbox.put(seen(0))
    assert outbox.flush(SECONDS)
    outbox.put(seen(1))
    assert outbox.flush(SECONDS)
    assert (gate.taken, outbox.dropped) == (["obs_1"], 1)


def test_a_destination_that_cannot_be_opened_costs_records_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> Gate:
        raise ValueError("no engine")

    opening: Callable[[], Gate] = fail
    outbox = Outbox(opening)
    for number in range(3):
        outbox.put(seen(number))
        assert outbox.flush(SECONDS)
    assert outbox.dropped == 3
    assert len(caplog.records) == 1


def test_a_destination_may_rest_when_nothing_comes_for_long(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    gate.open.set()
    outbox = Outbox(lambda: gate)
    outbox.put(seen(0))
    assert outbox.flush(SECONDS)
    rested = threading.Event()
    gate.settle = lambda seconds: rested.set() or True  # type: ignore[method-assign, func-returns-value]
    assert rested.wait(SECONDS)


def test_nothing_put_means_nothing_to_wait_for() -> None:
    assert Outbox(lambda: pytest.fail("opened")).flush(0.0)
