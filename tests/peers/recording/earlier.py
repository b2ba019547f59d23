"""Stories that every client since 2.0.26 can play. The tool that starts an agent changed its name on the way."""

from ramify.demo.wire import Json
from tests.peers.recording import sessions
from tests.peers.recording.script import Reply, Scenes, once, said, shell, text, tool
from tests.peers.recording.story import Story, asked, waited

FULL = {"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 185_000, "cache_creation_input_tokens": 0}


def stories(name: str) -> tuple[Story, ...]:
    """`name`: `Task` up to 2.1.30, `Agent` since 2.1.112 at the latest."""

    def agent(prompt: str, *, later: bool = False) -> Json:
        call = {"description": "Some work", "prompt": prompt, "subagent_type": "general-purpose"}
        asked_for = {"run_in_background": later} if later or name == "Agent" else {}
        return tool(name, call | asked_for)

    one: Scenes = {
        "Ask one agent.": (once(text("I ask."), agent("Count the trees.")), said("There are three.")),
        "Count the trees.": (once(text("Looking."), shell("echo three")), said("Three trees.")),
    }
    slow: Scenes = {
        "Ask a slow agent.": (once(agent("Work slowly.")), said("It was slow.")),
        "Work slowly.": (once(shell("sleep 20")), said("Slept.")),
    }
    tall = sessions.TALL
    return (
        Story("one-agent", "one blocking sub-agent", one, asked("Ask one agent.")),
        Story(
            "parallel",
            "two sub-agents from one message; the results come in the other order",
            {
                "Ask two.": (once(agent("Part a."), agent("Part b.")), said("Both are done.")),
                "Part a.": (once(shell("sleep 1; echo a")), said("Part a done.")),
                "Part b.": (once(shell("echo b")), said("Part b done.")),
            },
            asked("Ask two."),
        ),
        Story(
            "twins",
            "two with the same prompt at once, and a third one later",
            {
                "Ask twins.": (
                    once(agent("Look twice."), agent("Look twice.")),
                    once(agent("Look twice.")),
                    said("They agree."),
                ),
                "Look twice.": (once(shell("echo seen")), said("I looked.")),
            },
            asked("Ask twins."),
        ),
        Story(
            "background",
            "a background sub-agent",
            {
                "Ask for later.": (once(agent("Take your time.", later=True)), said("Under way."), said("It is done.")),
                "Take your time.": (once(shell("sleep 1; echo later")), said("Done at leisure.")),
            },
            lambda world: waited(world, "Ask for later.", 2, patience=6),
        ),
        Story(
            "nested",
            "a sub-agent that tries to start another",
            {
                "Go deep.": (once(agent("Level one.")), said("Back at the top.")),
                "Level one.": (once(agent("Level two.")), said("Back on one.")),
                "Level two.": (said("At the bottom."),),
            },
            asked("Go deep."),
        ),
        Story("resume", "a second prompt with --resume", {**one, **tall}, sessions.resume),
        Story(
            "fork-session",
            "--resume ID --fork-session",
            {**one, "Let us go another way.": (said("Gladly."),)},
            sessions.fork,
        ),
        Story("two-prompts", "two prompts in one stream-json input session", {**one, **tall}, sessions.two_prompts),
        Story(
            "commands",
            "a custom command, /context and a prompt",
            {**sessions.HELLO, **sessions.COUNTED, **tall},
            sessions.command,
        ),
        Story("compact", "/compact between two prompts", {**one, **tall}, sessions.compact, (sessions.SUMMARY,)),
        Story(
            "autocompact",
            "the context is full in the middle of a turn",
            {
                "Work much.": (once(shell("echo one")), (Reply(content=(shell("echo two"),), usage=FULL),)),
                "Much was done.": (said("All of it is done."), said("All of it is done.")),
                **tall,
            },
            lambda world: sessions.two(world, "Work much.", "And how tall are they?"),
            (sessions.MUCH,),
        ),
        Story(
            "interrupted",
            "an interrupt request while the model speaks",
            {**sessions.ENDLESS, **tall},
            sessions.interrupted,
        ),
        Story(
            "interrupted-agent",
            "an interrupt request while a sub-agent works",
            {**slow, **tall},
            sessions.interrupted_agent,
        ),
        Story("sigint", "SIGINT while a sub-agent works, then --resume", {**slow, **tall}, sessions.signalled),
        Story(
            "agent-529",
            "a sub-agent whose every request is answered 529",
            {"Ask an unlucky agent.": (once(agent("Fail.")), said("It failed.")), "Fail.": ((Reply(status=529),),)},
            asked("Ask an unlucky agent."),
            environment={"CLAUDE_CODE_MAX_RETRIES": "1"},
        ),
        Story("hooked", "every hook written down", one, sessions.hooked_one),
        Story(
            "partial",
            "partial messages in the stream",
            one,
            asked("Ask one agent."),
            options=("--include-partial-messages",),
        ),
    )
