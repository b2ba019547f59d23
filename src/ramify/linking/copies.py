"""Copied histories: a forked session begins with the messages of its origin, under the same ids.

A message has one home, the session in which it was said. Which one that is follows from everybody who tells of it and
from when their sessions were first at work; so it may turn out later to be another.
"""

from collections.abc import Iterator

from msgspec import Struct

from ramify.linking import rollup, turns
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Message
from ramify.model.event import AgentSeen, MessageSaid


class Move(Struct, frozen=True):
    """What is told of a message from now on, and what no longer: observations of its new home, and of the old one."""

    message: str
    come: tuple[str, ...]
    gone: tuple[str, ...] = ()


def tell(world: World, event: MessageSaid) -> Move | None:
    """Somebody tells of a message. None: it is a copy."""
    row = world.message(ids.message_id(event.scope.project, event.place.id))
    if row is None or (row.session == event.scope.session and not row.copies):
        return Move("", (event.observation,))
    for observation in (row.observation, *row.also) if not row.copies else ():
        _remember(world, row, row.session, observation)
    _remember(world, row, event.scope.session, event.observation)
    return _settle(world, row) or (Move("", (event.observation,)) if row.session == event.scope.session else None)


def bear(world: World, event: AgentSeen) -> Iterator[Move]:
    """A session's first sign of life. Messages that it shares with others may turn out to be theirs."""
    scope = event.scope
    conversation = world.conversation(turns.conversation_of(scope.project, scope.session))
    mine = (event.place.position, event.at)
    if conversation is None or (conversation.born and (conversation.born_place, conversation.born) <= mine):
        return
    conversation.born_place, conversation.born = mine
    rollup.put_opening(conversation)
    world.save("conversations", conversation)
    for _, ref in world.span(key("contested", scope.project, scope.session)):
        row = world.message(ref)
        if row is not None and (move := _settle(world, row)) is not None:
            yield move


def _remember(world: World, row: Message, session: str, observation: str) -> None:
    world.mark(key("contested", row.project, session), 0, row.id)
    world.mark(key("tellers", row.id), 0, f"{session} {observation}")


def _settle(world: World, row: Message) -> Move | None:
    """Finds the home anew; what must move, if it is another."""
    tellers: dict[str, list[MessageSaid]] = {}
    for _, ref in world.span(key("tellers", row.id)):
        session, observation = ref.split(" ", 1)
        if event := world.loader.message(observation):
            tellers.setdefault(session, []).append(event)
    home = min(tellers, key=lambda session: _rank(world, row.project, session, tellers[session]))
    _note_copies(world, row, home, sorted(tellers), min(event.at for event in tellers[home]))
    if home == row.session:
        return None
    return Move(row.id, tuple(event.observation for event in tellers[home]), (row.observation, *row.also))


def _rank(world: World, project: str, session: str, tellers: list[MessageSaid]) -> tuple[bool, int, str]:
    """A copy says so, or stands behind the copying session's first sign of life and is older. The oldest clients date
    their copies anew: there the older one is the original."""
    row = world.conversation(turns.conversation_of(project, session))
    born, place = (row.born, row.born_place) if row else (0, 0)
    return any(_is_copy(event, born, place) for event in tellers), min(event.at for event in tellers), session


def _is_copy(event: MessageSaid, born: int, place: int) -> bool:
    behind = event.source == "transcript" and place < event.place.position
    return bool(event.copied_from) or (behind and event.at < born)


def _note_copies(world: World, row: Message, home: str, sessions: list[str], at: int) -> None:
    """A session was forked from the home of the newest message that it copied."""
    copies = tuple(session for session in sessions if session != home)
    touched = {*row.copies, *copies}
    for copy in row.copies:
        world.unmark(key("shared", row.project, copy), row.said, f"{row.session} {row.id}")
    for copy in copies:
        world.mark(key("shared", row.project, copy), at, f"{home} {row.id}")
    row.copies, row.said = copies, at
    world.save("messages", row)
    for copy in sorted(touched):
        _put_origin(world, row.project, copy)


def _put_origin(world: World, project: str, session: str) -> None:
    row = world.conversation(turns.conversation_of(project, session))
    newest = world.span(key("shared", project, session), limit=1, newest=True)
    at, home = (newest[0][0], newest[0][1].split(" ", 1)[0]) if newest else (0, "")
    origin = turns.conversation_of(project, home) if home else ""
    if row is not None and (row.forked_from, row.forked_at) != (origin, at):
        row.forked_from, row.forked_at = origin, at
        world.save("conversations", row)
        world.recounted[row.id] = None
