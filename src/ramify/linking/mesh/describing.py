"""From what was folded of a task to its row, its link and its place."""

from typing import Any

from msgspec import structs

from ramify.linking import adoption
from ramify.linking.mesh import cancels, circles, names, pairing
from ramify.linking.mesh.state import State
from ramify.linking.mesh.telling import LATEST, RANK, RULES, claims, mentions, stirred
from ramify.linking.world import World, key
from ramify.model.entity import NativeRef, Task
from ramify.model.link import Link

OPEN = ("submitted", "working", "input-required", "auth-required")
LONGEST_TITLE = 80


def describe(world: World, project: str, native: str, state: State) -> tuple[Task | None, set[pairing.Bucket]]:
    """The row, and what must be paired again because of it. None where nobody tells of it any more."""
    id = names.task_id(project, native)
    link, at, context = found(world, project, native, state)
    if not state.messages and not at:
        adoption.remove(world, id)
        return None, set()
    known = world.task(id)
    task = known or Task(id, project, protocol=names.PROTOCOL)
    before, bucket, told = pairing.standing(task), pairing.bucket_of(task), told_below(task)
    above = world.task(link.parent) if link is not None and link.parent != id else None
    context = state.context or context or (str(above.native.get("context_id", "")) if above is not None else "")
    fill(task, state)
    task.opened = state.given.at if state.given else state.first or at
    task.place = state.given.received if state.given else 0
    task.home = names.conversation_id(project, context)
    task.refs = refs(native, context, state)
    task.native = own_fields(context, state, above)
    put(world, task, link)
    if known is None or told != told_below(task):
        cancels.known(world, task, native)
        tell_children(world, task)
    return task, pairing.claimed(world, before, task, bucket)


def put(world: World, task: Task, link: Link | None) -> None:
    kept = task.found
    if link is not None and kept is not None and kept.parent == link.parent:
        link = structs.replace(link, via=kept.via, via_id=kept.via_id)
    circles.attach(world, task, link)


def found(world: World, project: str, native: str, state: State) -> tuple[Link | None, int, str]:
    """Whose child it is, by the strongest word; when it was first named, and in which context."""
    claimed = world.span(claims(project, native), limit=1)
    named = world.span(mentions(project, native), limit=1)
    at, context = (named[0][0], named[0][1].partition(" ")[2]) if named else (0, "")
    if state.given is not None and state.given.parent:
        parent = names.task_id(project, state.given.parent)
        return Link("spawned", parent, "parentTaskId", 1.0, evidence=(state.given.observation,)), at, context
    if not claimed:
        return None, at, context
    rank, when = claimed[0][0] >> RANK, claimed[0][0] & LATEST
    above, seen = claimed[0][1].rsplit(" ", 1)
    rule, certainty = RULES[rank]
    link = Link("spawned", names.task_id(project, above), rule, certainty, evidence=(seen,))
    return link, min(filter(None, (at, when))), context


def fill(task: Task, state: State) -> None:
    given = state.given
    task.agent = (given.agent if given else "") or state.speaker
    task.prompt = given.prompt if given else ""
    task.title = title_of(task.prompt) or task.agent
    task.prompt_author = "" if given is None else "agent" if given.parent else "human"
    task.named = not state.messages
    task.status = status_of(state)
    task.native_status = state.outcome or state.word
    task.closed, task.active = state.ended, state.active
    task.flags = ("assumed_zone",) if state.guessed else ()
    task.usage, task.calls, task.tool_calls = state.usage, state.calls, state.tools


def title_of(prompt: str) -> str:
    line = prompt.strip().partition("\n")[0].strip()
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def status_of(state: State) -> str:
    if state.outcome:
        return state.outcome
    if not state.messages:
        return "unknown"
    return state.word if state.word in OPEN else "working"


def refs(native: str, context: str, state: State) -> tuple[NativeRef, ...]:
    found = [("task", native), ("context", context)]
    given = state.given
    if given is not None and given.native.get("node_id"):
        found.append(("node", f"{given.parent}/{given.native['node_id']}"))
    return tuple(NativeRef(names.PROTOCOL, kind, value) for kind, value in found if value)


def own_fields(context: str, state: State, above: Task | None) -> dict[str, Any]:
    given = state.given
    fields: dict[str, Any] = {"context_id": context, **(given.native if given else {})}
    if given is not None and not given.told and given.parent and not given.native.get("node_id"):
        fields["delegating_agent_name"] = above.agent if above else ""  # an export has no properties: the parent's agent asked
    fields["messages"] = state.messages
    if state.outcome:
        fields |= {"final_text": state.last_words, **state.end}
    if state.outcome == "failed":
        fields["error"] = state.error or state.last_words
    return {name: value for name, value in fields.items() if value not in ("", None)}


def told_below(task: Task) -> tuple[str, str]:
    """What its children have of it."""
    return task.agent, task.native.get("context_id", "")


def tell_children(world: World, task: Task) -> None:
    below = [kid for _, kid in world.span(key("kids", task.id))]
    for kid in (*below, *circles.refused(world, task.project), *world.corrected()):
        child = world.task(kid)
        if child is not None and child.protocol == names.PROTOCOL and child.found is not None and child.found.parent == task.id != kid:
            stirred(world, task.project, names.native_id(child))
