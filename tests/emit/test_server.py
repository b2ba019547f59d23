"""Events to a server: in batches, once each, for the right session, however the server behaves."""

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.ports import free_port
from ramify.emit import Emitter, Memory, ServerSink, session
from tests.cli.test_main import SOURCE
from tests.emit.server import Taken, listening


def tell(emitter: Emitter, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        emitter.request("seller", "sync", params=number)


def numbers(taken: Taken) -> list[int]:
    return [event["payload"]["params"] for event in taken.events()]


def test_events_arrive_in_order_in_batches_and_in_one_session_that_the_server_gave() -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        sink = ServerSink(taken.url, token="t0")
        emitter.subscribe(sink)
        assert sink.session is None
        tell(emitter, 1000)
        assert emitter.flush(10)
        assert numbers(taken) == list(range(1000))
        assert list(taken.by_session) == ["given-0"] == [sink.session]
        assert len(taken.posts) < 20
        assert {headers["Authorization"] for headers in taken.headers} == {"Bearer t0"}
        row = emitter.stats()["subscribers"][0]
        assert (row["name"], row["stored"], row["rejected"], row["dropped"]) == ("ServerSink", 1000, 0, 0)


def test_each_session_of_the_program_has_its_own_at_the_server() -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        taken.by_session["known"] = []
        emitter.subscribe(ServerSink(taken.url))
        for name in ("known", "mine", "known", "mine", None):
            if name is None:
                tell(emitter, 1, 9)
            else:
                with session(name):
                    tell(emitter, 1)
        assert emitter.flush(10)
        assert {name: len(events) for name, events in taken.by_session.items()} == {"known": 2, "given-1": 2, "given-2": 1}
        assert ("mine", 1) in taken.posts
        assert ("given-1", 1) in taken.posts


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([500, 503, 429, 401, 404, "cut", "store and cut"]), max_size=4))
def test_whatever_the_server_does_each_event_is_stored_once(script: list[int | str]) -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        taken.script = script
        emitter.subscribe(ServerSink(taken.url, session="mine"))
        tell(emitter, 3)
        assert emitter.flush(10)
        stored_once = {event["eventId"]: event["payload"]["params"] for event in taken.events()}
        assert sorted(set(stored_once.values())) == [0, 1, 2]
        assert emitter.stats()["dropped"] == 0


def test_an_answer_that_got_lost_leads_to_no_second_event() -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        taken.by_session["mine"] = []
        taken.script = ["store and cut"]
        emitter.subscribe(ServerSink(taken.url, session="mine"))
        tell(emitter, 3)
        assert emitter.flush(10)
        assert numbers(taken) == [0, 1, 2]
        assert sum(emitter.stats()["subscribers"][0][name] for name in ("stored", "duplicates")) == 3


def test_a_dead_server_costs_the_program_nothing_and_gets_everything_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    emitter = Emitter()
    emitter.subscribe(ServerSink(f"http://127.0.0.1:{port}"))
    began = time.perf_counter()
    tell(emitter, 1000)
    assert time.perf_counter() - began < 1
    assert emitter.flush(0.3) is False
    row = emitter.stats()["subscribers"][0]
    assert (row["waiting"], row["dropped"]) == (1000, 0)
    assert "no server answers" in row["problem"]
    with listening(Taken(), port) as taken:
        assert emitter.flush(10)
        assert numbers(taken) == list(range(1000))
    assert caplog.text.count("events wait") == 1
    assert emitter.stats()["subscribers"][0]["problem"] is None
    emitter.close()


def test_more_than_fits_while_the_server_is_dead_is_lost_from_the_front_and_counted() -> None:
    emitter = Emitter()
    port = free_port()
    emitter.subscribe(ServerSink(f"http://127.0.0.1:{port}"), limit=100)
    tell(emitter, 1000)
    assert emitter.stats()["dropped"] >= 700
    with listening(Taken(), port) as taken:
        assert emitter.flush(10)
        assert numbers(taken)[-100:] == list(range(900, 1000))
        assert len(numbers(taken)) + emitter.stats()["dropped"] == 1000
    emitter.close()


def test_a_server_that_hangs_is_given_up_and_asked_again() -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        taken.by_session["mine"] = []
        import socket

        with socket.create_server(("127.0.0.1", 0)) as deaf:
            sink = ServerSink(f"http://127.0.0.1:{deaf.getsockname()[1]}", session="mine", seconds=0.1)
            emitter.subscribe(sink)
            began = time.perf_counter()
            tell(emitter, 3)
            assert time.perf_counter() - began < 0.5
            assert emitter.flush(0.5) is False
        emitter.unsubscribe(sink)
        assert taken.posts == []


def test_what_the_server_rejects_is_counted_said_once_and_not_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        emitter.subscribe(ServerSink(taken.url))
        tell(emitter, 1)
        emitter.request("", "sync")
        assert emitter.flush(10)
        emitter.request("", "sync")  # alone: the answer is 400
        assert emitter.flush(10)
        row = emitter.stats()["subscribers"][0]
        assert (row["stored"], row["rejected"], row["waiting"]) == (1, 2, 0)
    assert caplog.text.count("rejects events") == 1


def test_one_event_that_a_server_cannot_read_costs_no_other() -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        memory = emitter.subscribe(Memory())
        tell(emitter, 4)
        taken.script = [400, 200, 400, 400, 200]  # of four, the third
        sink = ServerSink(taken.url)
        sink.deliver(memory.items)
        assert numbers(taken) == [0, 1, 3]
        assert (sink.stored, sink.rejected) == (3, 1)


def test_a_batch_that_is_too_large_is_sent_in_parts() -> None:
    with listening(Taken()) as taken, Emitter() as emitter:
        taken.by_session["mine"] = []
        taken.most_bytes = 5000
        emitter.subscribe(ServerSink(taken.url, session="mine"))
        tell(emitter, 100)
        emitter.request("seller", "sync", params="x" * 6000)
        assert emitter.flush(10)
        assert numbers(taken) == list(range(100))
        assert emitter.stats()["subscribers"][0]["rejected"] == 1


def test_at_the_end_of_a_program_a_server_gets_what_waits_and_a_dead_one_delays_little() -> None:
    program = (
        "import sys, ramify; ramify.emitter.subscribe(ramify.ServerSink(sys.argv[1]))\n"
        "for number in range(50): ramify.emitter.request('seller', 'sync', params=number)"
    )
    with listening(Taken()) as taken:
        for url, words in ((taken.url, ""), (f"http://127.0.0.1:{free_port()}", "50 events could not be delivered")):
            began = time.perf_counter()
            told = subprocess.run([sys.executable, "-c", program, url], env={"PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=20)
            assert told.returncode == 0
            assert words in told.stderr
            assert time.perf_counter() - began < 4
        assert numbers(taken) == list(range(50))


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="no address of a server"):
        ServerSink("localhost:8377")
