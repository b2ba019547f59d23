"""Prompts that a program told as it asked them, before the client gave them an id: echoes of what others show by id.

Of the messages of one session with the same words, each one with an id stands for one without, the oldest first.
"""

from collections.abc import Callable

from ramify.linking import turns
from ramify.linking.world import World, key
from ramify.model.entity import Message

Again = Callable[[Message], None]


def sort_out(world: World, row: Message, words: str, again: Again) -> bool:
    """Whether this message is an echo. `again` is for one that turns out to be none after all."""
    place = key("same-words", row.project, row.session, " ".join(words.split()))
    world.add(place, 0, row.id)
    known = [found for _, ref in world.find(place) if (found := world.message(ref)) and found.session == row.session]
    named = sum(bool(one.native) for one in known)
    unnamed = sorted((one for one in known if not one.native), key=lambda one: (one.at, one.id))
    for number, one in enumerate(unnamed):
        if number < named and not one.echo:
            _hide(world, one)
        elif number >= named and one.echo:
            one.echo = False
            world.save("messages", one)
            if one.id != row.id:
                again(one)
    return row.echo


def _hide(world: World, row: Message) -> None:
    if row.opens:
        row.opens = False
        turns.close_turn(world, row)
    turns.take_off_line(world, row)
    world.unmark(turns.asked_key(row.project, row.session), row.at, row.id)
    row.line, row.echo = "", True
    world.save("messages", row)
