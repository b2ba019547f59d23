"""Reports, folded: one observation's events in, rows out. A copied history is told once, in the session it comes from."""

from collections.abc import Sequence

from ramify.linking import results, saying, sighting, statement, sums, turns
from ramify.linking.judging import settle
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Conversation, Message, Stated
from ramify.model.event import (
    AgentSeen,
    Event,
    MessageSaid,
    ModelAnswered,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolCalled,
    ToolReturned,
    UsageReported,
)


def tell(world: World, events: Sequence[Event], price: sighting.Price) -> None:
    message = _message(events)
    if message is None or _is_at_home(world, message, price):
        _fold(world, events, price)
    settle(world)


def _fold(world: World, events: Sequence[Event], price: sighting.Price) -> None:
    for event in sorted(events, key=lambda event: not isinstance(event, MessageSaid)):
        match event:
            case MessageSaid() if event.source == "hook":
                pass  # a stream or a transcript tells of the same prompt under its own id
            case MessageSaid():
                saying.said(world, event)
            case ModelAnswered() if event.scope is not None:
                sighting.sighted(world, event, event.scope, price)
            case ToolCalled():
                statement.tool_called(world, event)
            case ToolReturned():
                statement.tool_returned(world, event)
            case TaskOpened():
                statement.opened(world, event)
            case TaskMoved():
                statement.moved(world, event)
            case TaskReferred():
                statement.referred(world, event)
            case UsageReported():
                sums.reported(world, event)
            case AgentSeen():
                _note_birth(world, event, price)
            case _:
                pass


def _message(events: Sequence[Event]) -> MessageSaid | None:
    return next((event for event in events if isinstance(event, MessageSaid) and event.place.id), None)


# -- copied histories --------------------------------------------------------------------------------------------------


def _is_at_home(world: World, event: MessageSaid, price: sighting.Price) -> bool:
    """A forked session begins with a copy of its origin's messages, under the same ids."""
    scope = event.scope
    row = world.message(ids.message_id(scope.project, event.place.id))
    if row is None or row.session == scope.session:
        return True
    for session, seen in ((scope.session, event.observation), (row.session, row.observation)):
        world.add(key("contested", row.project, session), 0, f"{row.id} {seen}")
    mine = _rank(world, row.project, scope.session, event.at, event.place.position)
    if event.copied_from or mine > _rank(world, row.project, row.session, row.at, row.position):
        _note_fork(world, row, scope.session, row.session)
        return False
    _note_fork(world, row, row.session, scope.session)
    _unfold(world, row)
    return True


def _rank(world: World, project: str, session: str, at: int, place: int) -> tuple[bool, int, str]:
    """A copy stands behind the copying session's first sign of life and is older. The oldest clients date their copies
    anew: there the older one is the original."""
    row = world.conversation(turns.conversation_of(project, session))
    return row is not None and at < row.born and row.born_place < place, at, session


def _note_fork(world: World, row: Message, copy: str, origin: str) -> None:
    if copy not in row.copies:
        row.copies = tuple(sorted({*row.copies, copy} - {origin}))
        world.save("messages", row)
    id = turns.conversation_of(row.project, copy)
    conversation = world.conversation(id) or Conversation(id, row.project, copy, row.at, row.at, told=True)
    came_from = turns.conversation_of(row.project, origin)
    source = world.conversation(came_from)
    if source is not None and source.forked_from == id:  # that was believed until now
        source.forked_from, source.forked_at = "", 0
        world.save("conversations", source)
    if (row.at, came_from) > (conversation.forked_at, conversation.forked_from):
        conversation.forked_from, conversation.forked_at = came_from, row.at
        world.save("conversations", conversation)
        world.recounted[id] = None


def _note_birth(world: World, event: AgentSeen, price: sighting.Price) -> None:
    """Its first sign of life. Messages that two sessions hold may turn out to be the other one's."""
    scope = event.scope
    statement.note_told(world, scope, event.at)
    conversation = world.conversation(turns.conversation_of(scope.project, scope.session))
    if conversation is None or (conversation.born and conversation.born_place <= event.place.position):
        return
    conversation.born, conversation.born_place = event.at, event.place.position
    world.save("conversations", conversation)
    for _, ref in world.find(key("contested", scope.project, scope.session)):
        row = world.message(ref.split(" ", 1)[0])
        if row is not None:
            _decide_again(world, row, price)


def _decide_again(world: World, row: Message, price: sighting.Price) -> None:
    homes: dict[str, tuple[tuple[bool, int, str], str]] = {}
    for session in (row.session, *row.copies):
        for _, ref in world.find(key("contested", row.project, session)):
            id, observation = ref.split(" ", 1)
            event = world.loader.message(observation) if id == row.id else None
            if event is not None:
                homes[session] = (_rank(world, row.project, session, event.at, event.place.position), observation)
    if not homes:
        return
    best = min(homes, key=lambda session: homes[session])
    if best != row.session:
        previous = row.session
        _unfold(world, row)
        row.copies = tuple(sorted({*row.copies, previous} - {best}))
        _note_fork(world, row, previous, best)
        _fold(world, world.loader.told(homes[best][1]), price)


def _unfold(world: World, row: Message) -> None:
    """Takes back what a copied message said in the session that only copied it."""
    events = world.loader.told(row.observation)
    for event in events:
        match event:
            case MessageSaid():
                if row.opens:
                    turns.close_turn(world, row)
                    row.opens = False
                if not row.agent:
                    turns.take_off_line(world, row)
                row.observation = ""
            case ModelAnswered() if event.scope is not None and event.part is not None:
                for use in event.part.uses:
                    _take_back(world, row, use.id, event.response, ids.seen_call_id(row.project, event.message))
            case ToolReturned():
                _take_back(world, row, event.result.id, event.observation, "")
            case TaskOpened() | TaskReferred() | TaskMoved() if event.scope.agent:
                _forget(world, row.project, row.session, event.scope.agent, event.observation)
            case _:
                pass


def _take_back(world: World, row: Message, native: str, observation: str, call: str) -> None:
    tool = world.tool(ids.tool_call_id(row.project, row.session, native))
    if tool is not None:
        results.forget_report(world, tool, observation, call)


def _forget(world: World, project: str, session: str, agent: str, observation: str) -> None:
    task = world.task(ids.agent_task_id(project, session, agent))
    if task is None or task.stated is None:
        return
    task.stated.told = tuple(told for told in task.stated.told if told.observation != observation)
    if task.stated.told:
        world.save("tasks", task)
        return
    task.stated = None if task.calls else Stated()
    if task.calls:
        world.save("tasks", task)
    else:
        world.drop("tasks", task.id)
        world.drop("lines", task.id)
