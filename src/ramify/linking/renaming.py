"""What happened inside a tool call, once it is known which agent ran there."""

from ramify.linking import saying, sighting, statement
from ramify.linking.speaker import INSIDE
from ramify.linking.world import World, key
from ramify.model.event import TaskMoved


def rename(world: World, project: str, session: str, native: str, before: str) -> None:
    """`before`: the agent that it was until now; empty where only the tool call was known."""
    for _, ref in world.span(key("under", project, session, native)):
        if call := world.call(ref):
            sighting.name_again(world, call)
            saying.name_line_again(world, call)
        elif row := world.message(ref):
            saying.name_again(world, row)
        else:
            _tell_again(world, ref, before or INSIDE + native)


def _tell_again(world: World, observation: str, before: str) -> None:
    for event in world.loader.told(observation):
        if isinstance(event, TaskMoved) and event.under:
            statement.take_back(world, event.scope, before, observation)
            statement.moved(world, event)
