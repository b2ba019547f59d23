"""Stories told through the Python SDK: what its classes keep, and what its callbacks get."""

from tests.peers.recording.script import agent, once, said, shell, text
from tests.peers.recording.sessions import ONE, TALL
from tests.peers.recording.story import Story
from tests.peers.recording.world import World


async def two_turns(world: World) -> None:
    await world.host(("Ask one agent.", 1), ("And how tall are they?", 1), session_id=world.session)


async def deep(world: World) -> None:
    await world.host(
        ("Go deep.", 1), session_id=world.session, forward_subagent_text=True, include_partial_messages=True
    )


async def later(world: World) -> None:
    await world.host(("Ask twins for later.", 3), session_id=world.session)


async def forked_file(world: World) -> None:
    await world.host(("Ask one agent.", 1), session_id=world.session)
    await world.host(("And how tall are they?", 1), fork=world.session)


HOSTS = (
    Story("sdk-two-turns", "Python SDK: two prompts, one sub-agent", {**ONE, **TALL}, two_turns),
    Story(
        "sdk-nested",
        "Python SDK: three levels, sub-agent text forwarded, partial messages",
        {
            "Go deep.": (once(text("I ask."), agent("Level one.")), said("Back at the top.")),
            "Level one.": (once(text("Further."), agent("Level two.")), said("Back on one.")),
            "Level two.": (once(shell("echo deep")), said("At the bottom.")),
        },
        deep,
    ),
    Story(
        "sdk-background",
        "Python SDK: twins in the background, each reports on its own",
        {
            "Ask twins for later.": (
                once(agent("Look twice.", later=True), agent("Look twice.", later=True)),
                said("Under way."),
                said("One is back."),
                said("Both are back."),
            ),
            "Look twice.": (once(shell("sleep $(( $$ % 2 + 1 )); echo seen")), said("I looked.")),
        },
        later,
    ),
    Story(
        "sdk-fork-file", "Python SDK: fork_session() copies the file, the copy is resumed", {**ONE, **TALL}, forked_file
    ),
)
