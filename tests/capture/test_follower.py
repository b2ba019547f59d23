import os
from pathlib import Path

from ramify.capture.follower import REST, WARM_SECONDS, Follower
from tests.capture.transcripts import agent, append, line, project, session


class Clock:
    """Each look at it takes a moment, so that looking at everything has a price."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 1000.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def taken(follower: Follower) -> list[str]:
    found = follower.changed()
    for path, status in found.items():
        follower.taken(path, status)
    return [Path(path).name[-10:] for path in found]


def test_a_file_is_changed_until_it_is_taken_and_when_it_grows_is_cut_or_replaced(tmp_path: Path) -> None:
    path = session(tmp_path, line(1))
    follower = Follower([tmp_path], Clock())
    assert list(follower.changed()) == list(follower.changed()) == [str(path)]
    for change in (
        lambda: None,
        lambda: append(path, line(2)),
        lambda: path.write_bytes(b""),
        lambda: os.replace(agent(tmp_path, line(3)), path),
    ):
        change()
        assert taken(follower) == [path.name[-10:]]
        assert taken(follower) == []


def test_files_and_folders_that_appear_late_are_found(tmp_path: Path) -> None:
    follower = Follower([tmp_path / "config"], Clock())
    assert taken(follower) == []
    session(tmp_path / "config", line(1))
    assert len(taken(follower)) == 1
    agent(tmp_path / "config", line(1))
    assert taken(follower) == ["t-a1.jsonl"[-10:]]


def test_a_file_that_is_gone_is_no_change(tmp_path: Path) -> None:
    path = session(tmp_path, line(1))
    follower = Follower([tmp_path], Clock())
    taken(follower)
    path.unlink()
    assert taken(follower) == []
    session(tmp_path, line(2))
    assert len(taken(follower)) == 1


def test_while_a_look_at_everything_is_dear_only_lively_files_are_looked_at(tmp_path: Path) -> None:
    clock = Clock(step=1.0)
    quiet, lively = session(tmp_path, line(1)), agent(tmp_path, line(1))
    follower = Follower([tmp_path], clock)
    taken(follower)
    clock.now += 2 * REST
    append(lively, line(2))
    assert len(taken(follower)) == 1
    append(lively, line(3))
    append(quiet, line(2))
    assert taken(follower) == [lively.name[-10:]]
    clock.now += 2 * REST
    assert taken(follower) == [quiet.name[-10:]]
    clock.now += WARM_SECONDS
    taken(follower)
    append(lively, line(4))
    assert taken(follower) == []
    clock.now += 2 * REST
    assert taken(follower) == [lively.name[-10:]]


def test_a_file_that_is_lively_and_gone_does_not_disturb(tmp_path: Path) -> None:
    clock = Clock(step=1.0)
    follower = Follower([project(tmp_path)], clock)
    taken(follower)
    clock.now += 2 * REST
    path = session(tmp_path, line(1))
    assert len(taken(follower)) == 1
    path.unlink()
    assert taken(follower) == []
