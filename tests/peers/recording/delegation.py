"""Stories about delegated work: agents of every kind, their failures, and what only looks like an agent."""

import json
import re

from ramify.demo.wire import Json
from tests.peers.recording.script import Reply, Scenes, agent, once, said, shell, text, tool
from tests.peers.recording.story import Story, asked, waited
from tests.peers.recording.world import World

DEEP: Scenes = {
    "Go deep.": (once(agent("Level one.")), said("Back at the top.")),
    "Level one.": (once(text("Further."), agent("Level two.")), said("Back on one.")),
    "Level two.": (once(agent("Level three.")), said("Back on two.")),
    "Level three.": (once(shell("echo deep")), said("At the bottom.")),
}
REVIEWER = {
    "reviewer": {"description": "Reviews", "prompt": "You review.", "tools": ["Bash", "Read"], "model": "haiku"}
}
FLOW = """export const meta = { name: 'pair', description: 'Two looks', phases: [{ title: 'Look' }] }
const found = await parallel([() => agent('Look left.'), () => agent('Look right.')])
return found.join(' and ')
"""


def load(*names: str) -> Json:
    return tool("ToolSearch", {"query": "select:" + ",".join(names), "max_results": 5})


def resume_by_id(body: Json) -> Reply:
    """The agent's id is only in the result of the call that started it."""
    found = re.findall(r"agentId: (\w+)", json.dumps(body["messages"]))
    call = {"to": found[-1], "summary": "One more", "message": "Now count the shrubs."}
    return Reply(content=(tool("SendMessage", call),))


async def hooked_parallel(world: World) -> None:
    world.listen()
    await world.ask("Ask two.", "--include-hook-events")


DELEGATION = (
    Story(
        "background",
        "a background sub-agent that reports after the turn",
        {
            "Ask for later.": (once(agent("Take your time.", later=True)), said("Under way."), said("It is done.")),
            "Take your time.": (once(shell("sleep 1; echo later")), said("Done at leisure.")),
        },
        lambda world: waited(world, "Ask for later.", 2),
    ),
    Story(
        "background-print",
        "the same in print mode",
        {
            "Ask for later.": (once(agent("Take your time.", later=True)), said("Under way."), said("It is done.")),
            "Take your time.": (once(shell("sleep 1; echo later")), said("Done at leisure.")),
        },
        asked("Ask for later."),
    ),
    Story(
        "background-joins",
        "a background sub-agent that reports while its caller still works",
        {
            "Ask for later.": (
                once(agent("Be quick.", later=True)),
                once(shell("sleep 2; echo slept")),
                said("Both done."),
            ),
            "Be quick.": (said("Already done."),),
        },
        asked("Ask for later."),
    ),
    Story(
        "resumed-agent",
        "SendMessage to the id of a finished agent",
        {
            "Ask one agent.": (
                once(agent("Count the trees."), load("SendMessage")),
                (resume_by_id,),
                said("Waiting."),
                said("Trees and shrubs."),
            ),
            "Count the trees.": (said("Three trees."),),
            "Now count the shrubs.": (once(shell("echo five")), said("Five shrubs.")),
        },
        lambda world: waited(world, "Ask one agent.", 2),
    ),
    Story(
        "named-agent",
        "a named background agent writes to main and is written to by its name",
        {
            "Ask Ada.": (
                once(agent("Find out.", later=True, name="ada"), load("SendMessage")),
                once(tool("SendMessage", {"to": "ada", "summary": "Hurry", "message": "Please hurry."})),
                said("I told her."),
                said("She wrote."),
                said("All is known."),
            ),
            "Find out.": (
                once(load("SendMessage"), shell("sleep 1; echo found")),
                once(tool("SendMessage", {"to": "main", "summary": "News", "message": "I found it."})),
                said("Found, and told."),
            ),
            "Please hurry.": (
                once(tool("SendMessage", {"to": "main", "summary": "News", "message": "I found it."})),
                said("Found, and told."),
            ),
        },
        lambda world: waited(world, "Ask Ada.", 2),
    ),
    Story(
        "fork-agent",
        "a fork of the main line works on with its whole history",
        {
            "First a look.": (
                once(shell("echo seen")),
                once(agent("Try the other way.", "fork")),
                said("Forked."),
                said("It came back."),
            ),
            "Try the other way.": (once(shell("echo other")), said("The other way works.")),
        },
        lambda world: waited(world, "First a look.", 2),
        environment={"CLAUDE_CODE_FORK_SUBAGENT": "1"},
    ),
    Story(
        "workflow",
        "a workflow runs two agents at once",
        {
            "Run the flow.": (once(tool("Workflow", {"script": FLOW})), said("Started."), said("The flow is over.")),
            "Look left.": (once(shell("echo left")), said("Left is free.")),
            "Look right.": (said("Right is free."),),
        },
        lambda world: waited(world, "Run the flow.", 2),
    ),
    Story(
        "background-shell",
        "a shell command in the background, and a slow one in the foreground",
        {
            "Start it.": (
                once(shell("sleep 1; echo built", run_in_background=True)),
                once(shell("sleep 3; echo slow")),
                said("Started."),
                said("Built."),
            )
        },
        lambda world: waited(world, "Start it.", 1),
    ),
    Story(
        "agent-types",
        "an Explore agent and one defined with --agents, from one message",
        {
            "Ask both.": (
                once(agent("Explore it.", "Explore"), agent("Review it.", "reviewer")),
                said("Both said so."),
            ),
            "Explore it.": (once(shell("ls")), said("Nothing there.")),
            "Review it.": (said("Looks good."),),
        },
        asked("Ask both."),
        options=("--agents", json.dumps(REVIEWER)),
    ),
    Story("three-levels", "main, child, grandchild, great-grandchild", DEEP, asked("Go deep.")),
    Story(
        "forwarded",
        "three levels with --forward-subagent-text",
        DEEP,
        asked("Go deep."),
        options=("--forward-subagent-text",),
    ),
    Story(
        "partial",
        "partial messages in the stream",
        {
            "Ask one agent.": (once(text("I ask."), agent("Count the trees.")), said("There are three.")),
            "Count the trees.": (once(shell("echo three")), said("Three trees.")),
        },
        asked("Ask one agent."),
        options=("--include-partial-messages",),
    ),
    Story(
        "hooked",
        "two agents at once, one with a failing command; every hook written down and in the stream",
        {
            "Ask two.": (once(*(agent(f"Part {part}.") for part in "ab")), said("Both are done.")),
            "Part a.": (once(shell("sleep 1; echo a")), said("Part a done.")),
            "Part b.": (once(shell("exit 3")), said("Part b done.")),
        },
        hooked_parallel,
    ),
)
