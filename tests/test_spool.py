"""What was appended comes back, whole and in order, whatever happened in between."""

import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ramify.model.observation import Observation, Record, Request
from ramify.spool import Spool, glance

ROOM = 10 * 2**20


def record(number: int, size: int = 20) -> Observation:
    return Record(f"obs_{number}", "default", number, "test", "lines", f"{number}", b"x" * size)


def records(*numbers: int) -> list[Observation]:
    return [record(number) for number in numbers]


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.segment"))


def test_what_is_appended_is_read_in_order_until_it_is_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    request = Request("obs_9", "p", 1, "proxy", "x", "POST", "/v1", (("A", "b"), ("A", "c")), b"\0\xff")
    assert spool.append([*records(1, 2), request]) == 0
    assert spool.read(2) == records(1, 2)
    assert spool.read(9) == [*records(1, 2), request]
    spool.drop(2)
    assert (spool.read(9), len(spool)) == ([request], 1)
    spool.drop(1)
    assert (spool.read(9), len(spool), spool.bytes) == ([], 0, 0)


def test_a_new_process_goes_on_where_the_old_one_stopped(tmp_path: Path) -> None:
    before = Spool(tmp_path, ROOM)
    before.append(records(1, 2, 3))
    before.read(1)
    before.drop(1)
    after = Spool(tmp_path, ROOM)
    assert len(after) == 2
    after.append(records(4))
    assert after.read(9) == records(2, 3, 4)
    after.drop(3)
    empty = Spool(tmp_path, ROOM)
    assert (len(empty), empty.append(records(5)), empty.read(9)) == (0, 0, records(5))


def test_more_than_was_read_cannot_be_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    spool.append(records(1, 2))
    spool.read(1)
    with pytest.raises(ValueError, match="cannot drop 2 observations: 1 were read"):
        spool.drop(2)


def test_what_does_not_fit_is_refused_and_counted_for_good(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000)
    assert spool.append([record(1, 500), record(2, 500), record(3, 100)]) == 1
    assert spool.append([record(4, 500)]) == 1
    assert (spool.read(9), spool.lost) == ([record(1, 500), record(3, 100)], 2)
    assert Spool(tmp_path, 1000).lost == 2
    spool.drop(2)
    assert spool.append([record(5, 500)]) == 0


def test_segments_are_removed_once_they_are_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    for number in range(12):
        spool.append([record(number, 2**20 // 2)])
    assert len(segments(tmp_path)) == 3
    spool.read(8)
    spool.drop(8)
    assert len(segments(tmp_path)) == 2
    assert [seen.at for seen in spool.read(9)] == [8, 9, 10, 11]
    assert [seen.at for seen in Spool(tmp_path, ROOM).read(9)] == [8, 9, 10, 11]


def test_what_cannot_be_written_down_is_refused_alone(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    odd = Record("obs_\udc80", "default", 1, "test", "lines", "", b"")
    assert (spool.append([record(1), odd, record(2)]), spool.read(9)) == (1, records(1, 2))


@settings(deadline=None)
@given(cut=some.integers(min_value=0, max_value=10_000), sizes=some.lists(some.integers(0, 300), min_size=1))
def test_a_segment_cut_at_any_byte_keeps_its_whole_beginning(cut: int, sizes: list[int]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        written = [record(number, size) for number, size in enumerate(sizes)]
        ends = []
        spool = Spool(folder, ROOM)
        for one in written:
            spool.append([one])
            ends.append(spool.bytes)
        (segment,) = segments(folder)
        segment.write_bytes(segment.read_bytes()[: cut % (ends[-1] + 1)])
        kept = written[: sum(end <= cut % (ends[-1] + 1) for end in ends)]
        after = Spool(folder, ROOM)
        assert (after.read(1000), len(after)) == (kept, len(kept))
        after.append([record(99)])
        assert after.read(1000) == [*kept, record(99)]
        assert Spool(folder, ROOM).read(1000) == [*kept, record(99)]


@settings(deadline=None, max_examples=40)
@given(at=some.integers(min_value=0), bit=some.integers(0, 7))
def test_a_flipped_bit_costs_no_more_than_its_own_segment(at: int, bit: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        spool = Spool(folder, ROOM)
        for number in range(6):
            spool.append([record(number, 2**20)])
        first, last = segments(folder)
        broken = bytearray(first.read_bytes())
        broken[at % len(broken)] ^= 1 << bit
        first.write_bytes(broken)
        kept = Spool(folder, ROOM).read(1000)
        assert [seen.at for seen in kept][-3:] == [3, 4, 5]
        assert [seen.at for seen in kept] == sorted({seen.at for seen in kept})
        assert last.exists()


@settings(deadline=None)
@given(garbage=some.binary(max_size=200))
def test_whatever_lies_behind_the_last_frame_is_cut_off(garbage: bytes) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        Spool(folder, ROOM).append(records(1, 2))
        with segments(folder)[0].open("ab") as file:
            file.write(garbage)
        after = Spool(folder, ROOM)
        after.append(records(3))
        assert after.read(9) == records(1, 2, 3)


def test_a_lost_position_only_means_reading_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    spool.append(records(1, 2, 3))
    spool.read(2)
    spool.drop(2)
    (tmp_path / "position").write_bytes(b"torn")
    assert Spool(tmp_path, ROOM).read(9) == records(1, 2, 3)


def test_a_full_disk_takes_all_or_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of files fails a write in its middle, as a full disk does."""
    code = f"""
        import resource
        from pathlib import Path
        from ramify.spool import Spool, SpoolDown
        from tests.test_spool import ROOM, record
        spool = Spool(Path({str(tmp_path)!r}), ROOM)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
        print(spool.append([record(1, 1000)]))
        try:
            spool.append([record(2, 1000), record(3, 1000)])
        except SpoolDown as problem:
            print(problem)
        print(spool.append([record(4, 100)]), [seen.at for seen in spool.read(9)], spool.lost)
    """
    assert run(code).splitlines() == ["0", "File too large", "0 [1, 4] 0"]
    spool = Spool(tmp_path, ROOM)
    assert (spool.lost, [seen.at for seen in spool.read(9)]) == (0, [1, 4])


def test_a_killed_process_leaves_everything_it_had_appended(tmp_path: Path) -> None:
    code = f"""
        from pathlib import Path
        from ramify.spool import Spool, glance
        from tests.test_spool import ROOM, record
        spool = Spool(Path({str(tmp_path)!r}), ROOM)
        for number in range(100_000):
            spool.append([record(number, 50)])
            print(number, flush=True)
    """
    with subprocess.Popen(command(code), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == 200:
                child.kill()
                break
        appended = [int(line) for line in child.stdout if line.endswith("\n")]
    kept = [seen.at for seen in Spool(tmp_path, ROOM).read(100_000)]
    assert kept == list(range(len(kept)))
    assert len(kept) > max(appended, default=200)


def test_a_glance_counts_and_touches_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    spool.append(records(1, 2, 3))
    spool.read(1)
    spool.drop(1)
    with segments(tmp_path)[0].open("ab") as file:
        file.write(b"\x09\0\0\0half of a frame that is being written")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert glance(tmp_path) == (2, 0)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert glance(tmp_path / "nowhere") == (0, 0)


def test_one_thread_appends_while_another_drops(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    writer = Thread(target=lambda: [spool.append(records(number)) for number in range(300)])
    writer.start()
    got: list[int] = []
    while len(got) < 300:
        batch = spool.read(7)
        got += [seen.at for seen in batch]
        spool.drop(len(batch))
    writer.join()
    assert got == list(range(300))


def command(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


def run(code: str) -> str:
    return subprocess.run(command(code), check=True, capture_output=True, text=True).stdout
