"""Records the stories again, with the client that the SDK brings or with another one.

    python -m tests.peers.recording.record --case 2.1.325 tests/cases/claude_more [STORY…]
    python -m tests.peers.recording.record --case 2.0.42 --earlier Task --client "node …/cli.js" tests/cases/claude_more

Without `--case` the folders hold everything as it was: the vendor's texts too, so they are for reading only. The client
needs no network but this machine's own: run it with none (`unshare -rn`, then `ip link set lo up`) to be sure.
Old clients are the npm packages of those versions; no test needs them.
"""

import argparse
import asyncio
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

from tests.peers.claude_cli import find_cli
from tests.peers.recording import case, earlier, raw
from tests.peers.recording.api import serving
from tests.peers.recording.confusions import CONFUSIONS
from tests.peers.recording.delegation import DELEGATION
from tests.peers.recording.hosts import HOSTS
from tests.peers.recording.script import Script
from tests.peers.recording.sessions import SESSIONS
from tests.peers.recording.story import Story
from tests.peers.recording.typed import TYPED
from tests.peers.recording.world import World

STORIES = (*SESSIONS, *DELEGATION, *CONFUSIONS, *HOSTS, *TYPED)
LONGEST = 200.0


async def record(story: Story, options: argparse.Namespace) -> None:
    target = options.target / story.name
    with tempfile.TemporaryDirectory() as folder:
        async with serving(Script(story.scenes, story.summaries), story.name) as api:
            client = tuple(options.client.split())
            world = World(api, Path(folder), client, environment=story.environment, options=story.options)
            await asyncio.wait_for(story.play(world), LONGEST)
            if options.case:
                case.write(story, options.case, world, target)
            else:
                raw.write(world, story.name, target)


def chosen(options: argparse.Namespace) -> list[Story]:
    """A case of an old client says so in its name."""
    stories = earlier.stories(options.earlier) if options.earlier else STORIES
    wanted = [story for story in stories if not options.stories or story.name in options.stories]
    prefix = f"{options.case}-" if options.earlier and options.case else ""
    return [replace(story, name=prefix + story.name) for story in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", default=str(find_cli()))
    parser.add_argument("--case", metavar="VERSION", help="a case with its truth, cut; else raw")
    parser.add_argument("--earlier", choices=("Task", "Agent"), help="the stories of old clients, and their tool")
    parser.add_argument("target", type=Path)
    parser.add_argument("stories", nargs="*")
    options = parser.parse_args()
    failed = 0
    for story in chosen(options):
        try:
            asyncio.run(record(story, options))
            print(story.name, "ok", flush=True)
        except Exception:  # the other stories go on
            failed += 1
            print(story.name, "FAILED", traceback.format_exc(limit=-3), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
