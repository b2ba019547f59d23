"""Prompts that a program told as it asked them, before the client gave them an id: echoes of what others show by id.

Of the messages of one session with the same words, each one with an id stands for one without, the oldest first.
"""

from ramify.linking.world import World, key
from ramify.model.entity import Message


def sort_out(world: World, project: str, session: str, words: str) -> list[Message]:
    """The messages with these words that turn out to be an echo, or no longer."""
    known = [found for _, ref in world.find(_place(project, session, words)) if (found := world.message(ref))]
    named = sum(bool(one.native) for one in known)
    unnamed = sorted((one for one in known if not one.native), key=lambda one: (one.at, one.id))
    changed = [one for number, one in enumerate(unnamed) if one.echo != (number < named)]
    for one in changed:
        one.echo = not one.echo
    return changed


def put(world: World, row: Message, words: str) -> None:
    world.add(_place(row.project, row.session, words), 0, row.id)


def take(world: World, row: Message, words: str) -> None:
    world.remove(_place(row.project, row.session, words), 0, row.id)


def _place(project: str, session: str, words: str) -> int:
    return key("same-words", project, session, " ".join(words.split()))
