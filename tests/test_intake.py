"""Files into a real store: only what is new, and marks only behind what is stored."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ramify import intake as module
from ramify.capture.cleaner import Cleaner
from ramify.capture.formats import sources
from ramify.ingest import Ingest
from ramify.intake import Batch, Intake, Marks, import_all
from ramify.model.observation import Observation, Record
from ramify.storage.base import StoreDown
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.capture.secret_formats import planted
from tests.capture.transcripts import agent, append, line, session

CASES = Path(__file__).parent / "cases" / "claude"


def taken(store: Sqlite, path: Path, project: str = "default") -> dict[str, Any]:
    found, _ = sources([path], "auto")
    return import_all(Intake(store, project, Ingest(store).take, settled=True), found, lambda done, total: None)


def log(store: Sqlite) -> list[Observation]:
    return [seen for _, seen in store.observations()]


def bodies(store: Sqlite) -> Counter[bytes]:
    return Counter(seen.body for seen in log(store) if isinstance(seen, Record))


def numbers(*wanted: int) -> Counter[bytes]:
    return Counter(line(number)[:-1] for number in wanted)


@pytest.fixture(params=["memory:", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Sqlite:
    return open_sqlite("memory:" if request.param == "memory:" else f"sqlite:{tmp_path}/store.db")


def test_importing_again_reads_only_what_is_new(store: Sqlite, tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2))
    agent(tmp_path, line(3))
    first = taken(store, tmp_path)
    assert (first["files"], first["unchanged"], first["read"], first["new"]) == (2, 0, 3, 3)
    again = taken(store, tmp_path)
    assert (again["files"], again["unchanged"], again["read"], again["bytes"]) == (2, 2, 0, 0)
    append(path, line(4))
    third = taken(store, tmp_path)
    assert (third["unchanged"], third["read"], third["new"], third["known"]) == (1, 1, 1, 0)
    assert bodies(store) == numbers(1, 2, 3, 4)


def test_a_secret_in_the_name_of_a_file_is_stored_nowhere(store: Sqlite, tmp_path: Path) -> None:
    key = planted("github-personal", 3).text
    path = tmp_path / f"{key}.jsonl"
    path.write_bytes(line(1))
    found, _ = sources([path], "claude")
    first, again = (import_all(Intake(store, "default", Ingest(store, redaction=Cleaner()).take, settled=True), found, lambda done, total: None) for _ in range(2))
    assert (first["new"], again["unchanged"]) == (1, 1)
    [seen] = log(store)
    assert isinstance(seen, Record)
    assert seen.place.endswith("[redacted:github-token].jsonl:1")
    assert not [name for name in store.facts("") if key in name]


def test_a_project_has_marks_of_its_own(store: Sqlite, tmp_path: Path) -> None:
    session(tmp_path, line(1))
    assert [taken(store, tmp_path, project)["new"] for project in ("a", "b", "a", "a:b")] == [1, 1, 0, 1]


def test_the_same_from_a_copied_folder_is_known(store: Sqlite, tmp_path: Path) -> None:
    for name in ("a", "b"):
        session(tmp_path / name, line(1), line(2))
    assert taken(store, tmp_path / "a")["new"] == 2
    report = taken(store, tmp_path / "b")
    assert (report["new"], report["known"]) == (0, 2)


def test_lines_that_cannot_be_read_are_kept_counted_and_named(store: Sqlite, tmp_path: Path) -> None:
    path = session(tmp_path, line(1), b"broken\n", line(2), b'{"cut": ')
    report = taken(store, tmp_path)
    assert (report["new"], report["unreadable_count"]) == (4, 2)
    assert [problem["place"] for problem in report["unreadable"]] == [f"{path}:2", f"{path}:4"]
    assert "malformed" in report["unreadable"][0]["problem"]
    assert sum(bodies(store).values()) == 4


def test_a_file_that_may_not_be_read_does_not_stop_the_others(store: Sqlite, tmp_path: Path) -> None:
    session(tmp_path, line(1))
    path = agent(tmp_path, line(2))
    found, _ = sources([tmp_path], "auto")
    path.unlink()
    path.mkdir()  # whoever is root may read every file; a folder nobody can read
    report = import_all(Intake(store, "default", Ingest(store).take, settled=True), found[::-1], lambda done, total: None)
    assert report["new"] == 1
    assert report["unreadable"] == [{"place": str(path), "problem": "cannot be read: Is a directory"}]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_whatever_the_batches_nothing_is_lost_or_read_twice(store: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(module, "BATCH", size)
    session(tmp_path, *(line(number) for number in range(5)))
    agent(tmp_path, *(line(number) for number in range(5, 8)))
    agent(tmp_path, name="agent-empty.jsonl")
    report = taken(store, tmp_path)
    assert (report["read"], report["new"], report["known"]) == (8, 8, 0)
    assert taken(store, tmp_path)["unchanged"] == 3


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_what_was_not_stored_has_no_mark(store: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int) -> None:
    """As a crash between the two would leave it, too."""
    monkeypatch.setattr(module, "BATCH", 2)
    session(tmp_path, *(line(number) for number in range(6)))
    ingest = Ingest(store)
    batches = 0

    def take(batch: list[Observation]) -> int:
        nonlocal batches
        batches += 1
        if batches == fails_at:
            raise StoreDown("away")
        return ingest.take(batch)

    found, _ = sources([tmp_path], "auto")
    with pytest.raises(StoreDown):
        import_all(Intake(store, "default", take, settled=True), found, lambda done, total: None)
    report = taken(store, tmp_path)
    assert (report["read"], report["known"]) == (6 - 2 * (fails_at - 1), 0)
    assert bodies(store) == numbers(*range(6))


def test_what_is_stored_without_a_mark_is_known_the_next_time(store: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(tmp_path, line(1), line(2))
    with monkeypatch.context() as crash:
        crash.setattr(Marks, "put", lambda self, marks: (_ for _ in ()).throw(StoreDown("gone between the two")))
        with pytest.raises(StoreDown):
            taken(store, tmp_path)
    report = taken(store, tmp_path)
    assert (report["new"], report["known"]) == (0, 2)
    assert bodies(store) == numbers(1, 2)


def test_a_mark_of_another_version_is_no_mark(store: Sqlite, tmp_path: Path) -> None:
    session(tmp_path, line(1))
    taken(store, tmp_path)
    for name in store.facts("mark:"):
        store.set_fact(name, b"\xc1")
    assert taken(store, tmp_path)["known"] == 1


def test_memory_is_bounded_by_the_batch(store: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_BYTES", 10_000)
    session(tmp_path, *(line(number, text="x" * 4000) for number in range(20)))
    sizes: list[int] = []

    def take(batch: list[Observation]) -> int:
        sizes.append(len(batch))
        return Ingest(store).take(batch)

    found, _ = sources([tmp_path], "auto")
    import_all(Intake(store, "default", take, settled=True), found, lambda done, total: None)
    assert sizes == [3] * 6 + [2]


def test_progress_comes_to_its_end(store: Sqlite, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    found, _ = sources([CASES], "auto")
    import_all(Intake(store, "default", Ingest(store).take, settled=True), found, lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    done, total = steps[-1]
    assert 0.5 < done / total <= 1


def test_a_batch_says_how_many_lines_of_which_file(tmp_path: Path) -> None:
    store = open_sqlite("memory:")
    path = session(tmp_path, line(1), line(2))
    found, _ = sources([path], "auto")
    ((batch, fresh),) = Intake(store, "default", Ingest(store).take, settled=False).store(found)
    assert isinstance(batch, Batch)
    assert (batch.lines, fresh) == ({path: 2}, 2)
