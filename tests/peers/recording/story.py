"""What a story is: who says what, and what is done with the client."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from tests.peers.recording.script import Scenes
from tests.peers.recording.world import SECONDS, World

Play = Callable[[World], Awaitable[object]]


@dataclass(frozen=True)
class Story:
    name: str
    about: str
    scenes: Scenes
    play: Play
    summaries: tuple[str, ...] = ("Summary: nothing of note.",)
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # of hooks and the like; what else is said shows in the run


def asked(prompt: str) -> Play:
    """Print mode, one prompt."""

    async def play(world: World) -> None:
        await world.ask(prompt)

    return play


async def waited(world: World, prompt: str, results: int, patience: float = SECONDS) -> None:
    """A session that stays open until what runs in the background has reported, or `patience` ends."""
    async with world.talking() as talk:
        await talk.say(prompt)
        await talk.results(1)
        with suppress(TimeoutError):
            await talk.results(results, patience)
