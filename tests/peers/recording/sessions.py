"""Stories about sessions: going on, forking, several prompts, commands, compaction, interruption."""

import asyncio

from tests.peers.recording.script import Reply, Scenes, agent, once, said, shell, text
from tests.peers.recording.story import Story, asked
from tests.peers.recording.world import FIRST_EVENTS, World

COUNT = "Count the trees."
ONE: Scenes = {
    "Ask one agent.": (once(text("I ask."), agent(COUNT)), said("There are three.")),
    COUNT: (once(text("Looking."), shell("echo three")), said("Three trees.")),
}
FULL = {"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 150_000, "cache_creation_input_tokens": 0}


async def resume(world: World) -> None:
    await world.ask("Ask one agent.")
    await world.ask("And how tall are they?", resume=world.session)


async def fork(world: World) -> None:
    """Whoever reads the files by their names meets the copy first."""
    world.session = f"ffffffff{world.session[8:]}"
    await world.ask("Ask one agent.")
    await world.ask("Let us go another way.", "--fork-session", resume=world.session)


async def fork_twice(world: World) -> None:
    await world.ask("Say hello.")
    first = await world.ask("Let us go another way.", "--fork-session", resume=world.session)
    await world.ask("And back on the old way?", resume=world.session)
    await world.ask("Let us go a third way.", "--fork-session", resume=first)


async def two_prompts(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Ask one agent.")
        await talk.results(1)
        await talk.say("And how tall are they?")
        await talk.results(2)


async def array_prompt(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Here is a note.", "Ask one agent.")
        await talk.results(1)
        await talk.say("And how tall are they?", blocks=True)
        await talk.results(2)


async def queued(world: World) -> None:
    """Both at once: the second waits for its turn or joins the first."""
    async with world.talking() as talk:
        await talk.say("Say hello.")
        await talk.say("Say goodbye.")
        await talk.results(2)


async def during(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Take your time.")
        await world.api.until("Take your time.")
        await asyncio.sleep(0.7)
        await talk.say("Also look at the sky.", joins=True)
        await talk.results(1)


async def command(world: World) -> None:
    world.write(".claude/commands/count.md", "---\ndescription: Counts\n---\nPlease count these: $ARGUMENTS\n")
    async with world.talking() as talk:
        await talk.say("Say hello.")
        await talk.results(1)
        await talk.say("/count oaks and elms")
        await talk.results(2)
        await talk.say("/context")
        await talk.results(3)
        await talk.say("And how tall are they?")
        await talk.results(4)


async def compact(world: World) -> None:
    await world.ask("Ask one agent.")
    await world.ask("/compact", resume=world.session)
    await world.ask("And how tall are they?", resume=world.session)


async def talked_compact(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Ask one agent.")
        await talk.results(1)
        await talk.say("/compact keep the trees")
        await talk.results(2)
        await talk.say("And how tall are they?")
        await talk.results(3)


async def interrupted(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Talk without end.")
        await world.api.until("Talk without end.", events=4)
        await asyncio.sleep(0.4)
        await talk.interrupt()
        await talk.results(1)
        await talk.say("And how tall are they?")
        await talk.results(2)


async def interrupted_tool(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Sleep long.")
        await world.api.until("Sleep long.")
        await asyncio.sleep(1.5)
        await talk.interrupt()
        await talk.results(1)
        await talk.say("And how tall are they?")
        await talk.results(2)


async def interrupted_agent(world: World) -> None:
    async with world.talking() as talk:
        await talk.say("Ask a slow agent.")
        await world.api.until("Work slowly.")
        await asyncio.sleep(1.5)
        await talk.interrupt()
        await talk.results(1)
        await talk.say("And how tall are they?")
        await talk.results(2)


async def signalled(world: World) -> None:
    async def mid() -> None:
        await world.api.until("Ask a slow agent.")
        await world.api.until("Work slowly.")
        await asyncio.sleep(1.5)

    await world.ask("Ask a slow agent.", stop=mid)
    await world.ask("And how tall are they?", resume=world.session)


async def stop_hook(world: World) -> None:
    marker = world.folder / "stopped"
    script = f'test -e "{marker}" && exit 0; touch "{marker}"; echo "Not yet: add the colour." >&2; exit 2'
    world.listen(Stop=script)
    await world.ask("Say hello.")


async def hooked_one(world: World) -> None:
    """Old clients drop the whole file when it names an event that they do not know."""
    world.listen(FIRST_EVENTS)
    await world.ask("Ask one agent.")


SUMMARY = "<analysis>Trees.</analysis>\n<summary>They counted trees: three.</summary>"
MUCH = "<analysis>Much.</analysis>\n<summary>Much was done.</summary>"
# The last answer from before the compaction is repeated behind the summary, and counts.
AFTERWARDS: Scenes = {"Much was done.": (said("Not reached."), once(shell("echo three")), said("All of it is done."))}
COUNTED: Scenes = {"Please count these: oaks and elms": (said("Seven."),)}
ENDLESS: Scenes = {"Talk without end.": ((Reply(content=(text("And then and then and then"),), hold_after=4),),)}
TALL: Scenes = {"And how tall are they?": (said("Ten metres."),)}
HELLO: Scenes = {"Say hello.": (said("Hello."), said("Hello, in green."))}
SESSIONS = (
    Story("resume", "a sub-agent, then a second prompt with --resume", {**ONE, **TALL}, resume),
    Story(
        "fork-session",
        "--resume ID --fork-session after a sub-agent",
        {**ONE, "Let us go another way.": (said("Gladly."),)},
        fork,
    ),
    Story(
        "fork-twice",
        "a fork that asks an agent, then the original goes on, then a fork of the fork",
        {
            **HELLO,
            "Let us go another way.": (once(agent("Look around.")), said("Gladly.")),
            "Look around.": (said("All green."),),
            "And back on the old way?": (said("As before."),),
            "Let us go a third way.": (said("Third."),),
        },
        fork_twice,
    ),
    Story("two-prompts", "two prompts in one stream-json input session", {**ONE, **TALL}, two_prompts),
    Story("array-prompt", "prompts as arrays of text blocks", {**ONE, **TALL}, array_prompt),
    Story(
        "queued",
        "two prompts written at once",
        {"Say hello.": (said("Hello."),), "Say goodbye.": (said("Goodbye."),)},
        queued,
    ),
    Story(
        "during-turn",
        "a person's message while a shell command runs",
        {
            "Take your time.": (once(shell("sleep 2; echo done")), said("Done.")),
            "Also look at the sky.": (said("Done, and the sky is blue."),),
        },
        during,
    ),
    Story(
        "commands",
        "a custom command, /context and a prompt",
        {**HELLO, **COUNTED, **TALL},
        command,
    ),
    Story("compact", "/compact between two prompts, each a process", {**ONE, **TALL}, compact, (SUMMARY,)),
    Story(
        "compact-talk",
        "/compact with words inside one process",
        {**ONE, **TALL},
        talked_compact,
        ("They counted trees: three.",),
    ),
    Story(
        "autocompact",
        "the context is full in the middle of a turn",
        {
            "Work much.": (once(shell("echo one")), (Reply(content=(shell("echo two"),), usage=FULL),)),
            **AFTERWARDS,
            **TALL,
        },
        lambda world: two(world, "Work much.", "And how tall are they?"),
        (MUCH,),
        options=("--autocompact", "100k"),
    ),
    Story(
        "autocompact-agent",
        "the context of a sub-agent is full in the middle of its work",
        {
            "Ask a busy agent.": (once(agent("Work much.")), said("It worked.")),
            "Work much.": (once(shell("echo one")), (Reply(content=(shell("echo two"),), usage=FULL),)),
            **AFTERWARDS,
        },
        asked("Ask a busy agent."),
        (MUCH,),
        options=("--autocompact", "100k"),
    ),
    Story(
        "interrupted",
        "an interrupt request while the model speaks, then another prompt",
        {**ENDLESS, **TALL},
        interrupted,
    ),
    Story(
        "interrupted-tool",
        "an interrupt request while a shell command runs",
        {"Sleep long.": (once(shell("sleep 20")), said("Slept.")), **TALL},
        interrupted_tool,
    ),
    Story(
        "interrupted-agent",
        "an interrupt request while a blocking sub-agent works",
        {
            "Ask a slow agent.": (once(agent("Work slowly.")), said("It was slow.")),
            "Work slowly.": (once(shell("sleep 20")), said("Slept.")),
            **TALL,
        },
        interrupted_agent,
    ),
    Story(
        "sigint",
        "SIGINT in print mode while a sub-agent works, then --resume",
        {
            "Ask a slow agent.": (once(agent("Work slowly.")), said("It was slow.")),
            "Work slowly.": (once(shell("sleep 20")), said("Slept.")),
            **TALL,
        },
        signalled,
    ),
    Story("stop-hook", "a Stop hook sends the model back once; every hook is written down", HELLO, stop_hook),
)


async def two(world: World, first: str, second: str) -> None:
    async with world.talking() as talk:
        await talk.say(first)
        await talk.results(1)
        await talk.say(second)
        await talk.results(2)
