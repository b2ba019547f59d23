"""The real client's transcripts, followed while it writes them."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ramify.capture.cleaner import Cleaner
from ramify.capture.transcript import find
from ramify.capture.transcript_reading import TranscriptReading
from ramify.demo.upstream import serving
from ramify.following import Following
from ramify.ingest import Ingest
from ramify.model.entity import Task
from ramify.model.observation import Record
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.peers.claude_cli import Script, Story, run_story
from tests.peers.stories import NESTED, THREE

pytestmark = pytest.mark.peer
SECONDS = 20.0


def on_disk(folder: Path) -> set[str]:
    """What a reader would find who comes when all is over."""
    readings = [TranscriptReading(Path(path), "default") for path, _ in find(folder)]
    return {seen.id for reading in readings for read in reading for seen in read.observations}


def stored(store: Sqlite) -> Counter[str]:
    return Counter(seen.id for _, seen in store.observations() if isinstance(seen, Record))


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(int(SECONDS / 0.05)):
        if condition():
            return
        await asyncio.sleep(0.05)
    pytest.fail("it did not come to that")


@pytest.mark.parametrize("story", [NESTED, THREE], ids=lambda story: story.name)
async def test_what_the_client_writes_is_stored_once_and_makes_the_tree(story: Story, tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    following = Following(store, "default", [tmp_path / "config"], Ingest(store, redaction=Cleaner()).take)
    following.start()
    try:
        async with serving(Script(story)) as upstream:
            run = await run_story(story, upstream.url, tmp_path)
        assert run.exit == 0
        wanted = on_disk(tmp_path / "config")
        await until(lambda: wanted <= stored(store).keys())
    finally:
        following.close()
    assert set(stored(store).values()) == {1}
    assert store.count_unreadable() == 0
    tasks = [task for task in store.docs("tasks") if isinstance(task, Task)]
    assert Counter(task.kind for task in tasks) == {"root": 1, "sub": len(story.replies) - 1}
    assert all(task.link is not None and task.link.rule == "sidecar" for task in tasks if task.kind == "sub")
    store.close()
