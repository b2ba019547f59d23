"""Stories for the real client. Each prompt of a story is unique, so that a script can tell who is asking."""

from signal import Signals

from ramify.demo.wire import Json, Reply, say, text, thinking, tool
from tests.peers.claude_cli import Story


def agent(prompt: str, *, background: bool = False) -> Json:
    call = {"description": "Some work", "prompt": prompt, "subagent_type": "general-purpose"}
    return tool("Agent", call | {"run_in_background": background})


def shell(command: str) -> Json:
    return tool("Bash", {"command": command, "description": "A look"})


def once(*blocks: Json) -> tuple[Reply]:
    return (Reply(content=blocks),)


def said(words: str) -> tuple[Reply]:
    return (say(words),)


ONE = Story(
    "one sub-agent",
    "Ask one agent.",
    {
        "Ask one agent.": (once(text("I ask."), agent("Count the trees.")), said("There are three.")),
        "Count the trees.": (once(shell("echo three")), said("Three trees.")),
    },
)
# The client lists results in the order in which they came: two runs compare only if that is settled.
THREE = Story(
    "three in parallel",
    "Ask three agents.",
    {
        "Ask three agents.": (once(*(agent(f"Part {part}.") for part in "abc")), said("All three are done.")),
        "Part a.": (once(shell("echo a")), said("Part a done.")),
        "Part b.": (once(shell("sleep 0.7; echo b")), said("Part b done.")),
        "Part c.": (once(shell("sleep 1.4; echo c")), said("Part c done.")),
    },
)
TWINS = Story(
    "two with the same prompt",
    "Ask twins.",
    {
        "Ask twins.": (once(agent("Look twice."), agent("Look twice.")), said("They agree.")),
        "Look twice.": (said("I looked."),),
    },
)
NESTED = Story(
    "nested two deep",
    "Go deep.",
    {
        "Go deep.": (once(agent("Go deeper.")), said("Back at the top.")),
        "Go deeper.": (once(thinking("Not my work."), agent("Go deepest.")), said("Back in the middle.")),
        "Go deepest.": (once(shell("echo deep")), said("At the bottom.")),
    },
)
BACKGROUND = Story(
    "background",
    "Ask somebody to do it later.",
    {
        "Ask somebody to do it later.": (
            once(agent("Take your time.", background=True)),
            said("It is under way."),
            said("It is done."),
        ),
        "Take your time.": (once(shell("sleep 1; echo later")), said("Done at leisure.")),
    },
)
RETRIED = Story(
    "retry after a 529",
    "Try hard.",
    {"Try hard.": ((Reply(status=529), say("It worked in the end.")),)},
)
LOOPED = Story(
    "the same prompt one after the other",
    "Ask again and again.",
    {
        "Ask again and again.": (once(agent("Have a look.")), once(agent("Have a look.")), said("Seen twice.")),
        "Have a look.": (said("I looked."),),
    },
)
CUT = Story(
    "an agent whose stream is cut",
    "Ask an unlucky agent.",
    {
        "Ask an unlucky agent.": (once(agent("Speak up.")), said("It spoke.")),
        "Speak up.": ((Reply(content=(text("And then and then and then"),), cut_after=4), say("I spoke.")),),
    },
)
# After three refusals the client falls back: other tools, other reminders, the same words.
REFUSED = Story(
    "refused until the client falls back",
    "Insist.",
    {"Insist.": ((*(Reply(status=400),) * 4, say("Well then.")),)},
)
ENDLESS = "Talk without end."
HELD = {ENDLESS: ((Reply(content=(text("And then and then and then"),), hold_after=4),),)}
INTERRUPTED = Story("interrupted stream", ENDLESS, HELD, stopped_by=Signals.SIGINT)
KILLED = Story("killed while streaming", ENDLESS, HELD, stopped_by=Signals.SIGKILL)
STORIES = (ONE, THREE, TWINS, NESTED, BACKGROUND, RETRIED, INTERRUPTED, KILLED)
