"""Reports, folded: one observation's events in, rows out. A copied history is told once, in the session it comes from."""

from collections.abc import Sequence

from ramify.linking import asking, copies, saying, sighting, statement, sums, toolreports, turns
from ramify.linking.judging import settle
from ramify.linking.otel import joining
from ramify.linking.world import World
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

Reported = (
    MessageSaid | ModelAnswered | ToolCalled | ToolReturned | TaskOpened | TaskMoved | TaskReferred | UsageReported | AgentSeen
)


def tell(world: World, events: Sequence[Event], price: sighting.Price) -> None:
    _note_life(world, events)
    message = next((event for event in events if isinstance(event, MessageSaid) and event.place.id), None)
    if message is None:
        _fold(world, events, price)
    elif (move := copies.tell(world, message)) is not None:
        _move(world, move, price)
    for event in events:
        if isinstance(event, AgentSeen):
            for move in copies.bear(world, event):
                _move(world, move, price)
    settle(world)


def _note_life(world: World, events: Sequence[Event]) -> None:
    """Also a copy is a sign that its session is there, unless it says itself that it is one: then it says not when."""
    copied = any(isinstance(event, MessageSaid) and event.copied_from for event in events)
    for event in events:
        if isinstance(event, Reported) and event.scope is not None:
            statement.note_told(world, event.scope, 0 if copied else event.at)


def _move(world: World, move: copies.Move, price: sighting.Price) -> None:
    """The message itself leaves first, for it can be in one session only; what else was told is never without a teller."""
    gone = [world.loader.told(observation) for observation in move.gone]
    if gone and (row := world.message(move.message)):
        saying.take_back(world, row)
    for observation in move.come:
        _fold(world, world.loader.told(observation), price)
    for events in gone:
        _unfold(world, events, price)


def _fold(world: World, events: Sequence[Event], price: sighting.Price) -> None:
    for event in sorted(events, key=lambda event: not isinstance(event, MessageSaid)):
        match event:
            case MessageSaid():
                saying.said(world, event)
            case ModelAnswered() if event.scope is not None:
                sighting.sighted(world, event, event.scope, price)
                toolreports.tell(world, event, event.scope)
                asking.note_answer(world, event, event.scope)
                joining.note_report(world, event)
            case ToolCalled():
                toolreports.tell(world, event, event.scope)
                asking.note_use(world, event)
            case ToolReturned():
                toolreports.tell(world, event, event.scope)
            case TaskOpened():
                statement.opened(world, event)
            case TaskMoved():
                statement.moved(world, event)
            case TaskReferred():
                statement.referred(world, event)
                toolreports.tell(world, event, event.scope)
            case UsageReported():
                sums.reported(world, event)
            case _:
                pass


def _unfold(world: World, events: Sequence[Event], price: sighting.Price) -> None:
    """Takes back what was told beside a message in the session that only copied it."""
    for event in events:
        match event:
            case ModelAnswered() if event.scope is not None:
                sighting.take_back(world, event, price)
                toolreports.take_back(world, event, event.scope)
            case ToolCalled() | ToolReturned():
                toolreports.take_back(world, event, event.scope)
            case TaskReferred() if not event.scope.agent:
                statement.untie_run(world, event)
            case TaskMoved() if not statement.mover(world, event):
                turns.unend_turn(world, event)
            case TaskMoved():
                statement.take_back(world, event.scope, statement.mover(world, event), event.observation)
            case TaskOpened() | TaskReferred() if event.scope.agent:
                statement.take_back(world, event.scope, event.scope.agent, event.observation)
                if isinstance(event, TaskReferred):
                    toolreports.take_back(world, event, event.scope)
            case _:
                pass
