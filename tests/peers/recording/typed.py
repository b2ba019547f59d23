"""Stories told in the terminal, where a person types."""

import asyncio

from tests.peers.recording.script import Reply, agent, once, said, shell, text
from tests.peers.recording.sessions import COUNTED, ENDLESS, SUMMARY, TALL
from tests.peers.recording.story import Story
from tests.peers.recording.terminal import ESCAPE, terminal
from tests.peers.recording.world import World

WITH_TITLE = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": ""}
START, SETTLE = 2.5, 1.0


async def prompts(world: World) -> None:
    """An agent runs in the background here, whatever the call says."""
    async with terminal(world) as keys:
        await asyncio.sleep(START)
        await keys.say("Ask one agent.")
        await world.api.until("Ask one agent.", 2)
        await asyncio.sleep(SETTLE)
        await keys.say("And how tall are they?")
        await world.api.until("And how tall are they?")
        await asyncio.sleep(SETTLE)


async def queue(world: World) -> None:
    async with terminal(world) as keys:
        await asyncio.sleep(START)
        await keys.say("Take your time.")
        await world.api.until("Take your time.")
        await asyncio.sleep(0.5)
        await keys.say("Also look at the sky.", joins=True)
        await world.api.until("Also look at the sky.")
        await asyncio.sleep(SETTLE)


async def waiting(world: World) -> None:
    """Typed while the model speaks its last words: a turn of its own."""
    async with terminal(world) as keys:
        await asyncio.sleep(START)
        await keys.say("Speak slowly.")
        await world.api.until("Speak slowly.")
        await keys.say("Say goodbye.")
        await world.api.until("Say goodbye.")
        await asyncio.sleep(SETTLE)


async def escape(world: World) -> None:
    async with terminal(world) as keys:
        await asyncio.sleep(START)
        await keys.say("Talk without end.")
        await world.api.until("Talk without end.", events=4)
        await asyncio.sleep(0.5)
        await keys.press(ESCAPE)
        await asyncio.sleep(SETTLE)
        await keys.say("And how tall are they?")
        await world.api.until("And how tall are they?")
        await asyncio.sleep(SETTLE)


async def commands(world: World) -> None:
    world.write(".claude/commands/count.md", "---\ndescription: Counts\n---\nPlease count these: $ARGUMENTS\n")
    async with terminal(world) as keys:
        await asyncio.sleep(START)
        await keys.say("/count oaks and elms")
        await world.api.until("Please count these: oaks and elms")
        await asyncio.sleep(SETTLE)
        await keys.say("/compact")
        await world.api.until("compaction", helper="compaction")
        await asyncio.sleep(2 * SETTLE)
        await keys.say("And how tall are they?")
        await world.api.until("And how tall are they?")
        await asyncio.sleep(SETTLE)


TYPED = (
    Story(
        "terminal",
        "two typed prompts with a title, and an agent between them",
        {
            "Ask one agent.": (once(text("I ask."), agent("Count the trees.")), said("Under way."), said("Three.")),
            "Count the trees.": (once(shell("sleep 1; echo three")), said("Three trees.")),
            **TALL,
        },
        prompts,
        environment=WITH_TITLE,
    ),
    Story(
        "terminal-during",
        "typed while a shell command runs",
        {
            "Take your time.": (once(shell("sleep 3; echo done")), said("Done.")),
            "Also look at the sky.": (said("Done, and the sky is blue."),),
        },
        queue,
    ),
    Story(
        "terminal-queued",
        "typed while the model speaks",
        {
            "Speak slowly.": ((Reply(content=(text("One two three four five six seven eight"),), pace=0.3),),),
            "Say goodbye.": (said("Goodbye."),),
        },
        waiting,
    ),
    Story("terminal-escape", "Escape while the model speaks", {**ENDLESS, **TALL}, escape),
    Story(
        "terminal-commands",
        "a custom command and /compact, typed",
        {**COUNTED, **TALL},
        commands,
        (SUMMARY,),
    ),
)
