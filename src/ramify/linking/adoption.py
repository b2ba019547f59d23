"""Where a task that has an id of its own stands: under whom, in which conversation, on which branch.

Folds of such protocols say what they know of a task and which link they found; the rest follows here, and moves with
the links: a parent that becomes known late takes its descendants along.
"""

from ramify.linking import corrected
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Conversation, Line, Task
from ramify.model.link import Link
from ramify.model.usage import NOTHING

DEEPEST = 1_000
FIRST_FEW = 8  # of a conversation's tasks by their time: a root is mostly among them


def put(world: World, task: Task, link: Link | None, order: int = 0) -> bool:
    """Saves a task under the parent that was found. False: that would be a circle, so the link is not taken. It
    does not matter where a person's word counts."""
    task.found = link
    task.order = order or task.order
    new = world.task(task.id) is None
    world.save("tasks", task)
    taken = _attach(world, task)
    _place(world, task, new)
    corrected.wake_under(world, task.id)
    for child in world.corrected_under(task.id):
        again(world, child)
    return taken


def again(world: World, id: str) -> None:
    """A person has said something about it, or a parent that a person named has come."""
    task = world.task(id)
    if task is not None and task.protocol:
        _attach(world, task)
        _place(world, task, False)


def detach(world: World, task: Task) -> None:
    """Under nobody, whoever says otherwise, until it is put again."""
    if task.parent:
        world.unmark(key("kids", task.parent), 0, task.id)
        world.moved[task.id] = None
    _note_callers(world, task, None)
    task.link, task.parent = None, ""


def withdraw(world: World, task: Task) -> None:
    """Until it is put again: its last sign of life was an earlier one than its conversation took it for."""
    _leave(world, task)


def remove(world: World, id: str) -> None:
    """Nobody tells of it any more."""
    task = world.task(id)
    if task is None:
        return
    _leave(world, task)
    if task.parent:
        world.unmark(key("kids", task.parent), 0, id)
    world.drop("lines", id)
    world.drop("tasks", id)
    for _, kid in world.span(key("kids", id)):
        again(world, kid)


def empty(world: World, conversation: str) -> None:
    """A whole conversation goes, with everything that stands in it."""
    stands = key("stands", conversation)
    for at, id in world.span(stands):
        task = world.task(id)
        if task is not None and task.parent:
            world.unmark(key("kids", task.parent), 0, id)
        world.unmark(stands, at, id)
        world.drop("lines", id)
        world.drop("tasks", id)
    world.drop("lines", conversation)
    world.drop("conversations", conversation)


# -- under whom --------------------------------------------------------------------------------------------------------


def _attach(world: World, task: Task) -> bool:
    link, taken = _chosen(world, task)
    parent = link.parent if link else ""
    if parent != task.parent:
        if task.parent:
            world.unmark(key("kids", task.parent), 0, task.id)
        if parent:
            world.mark(key("kids", parent), 0, task.id)
        world.moved[task.id] = None
    _note_callers(world, task, link)
    task.link, task.parent, task.kind = link, parent, "sub" if parent else "root"
    return taken


def leads_to(parents: dict[str, str], task: str, above: str) -> bool:
    """Whether it stands under the other, as far as parents were chosen yet."""
    while task:
        if task == above:
            return True
        task = parents.get(task, "")
    return False


def _note_callers(world: World, task: Task, link: Link | None) -> None:
    for one in (task.link, link):
        if one is not None and one.via_id:
            world.called.setdefault(one.via_id, {})[task.id] = None


def _chosen(world: World, task: Task) -> tuple[Link | None, bool]:
    """A person's word first, unless it leads in a circle or nowhere."""
    found = task.found
    taken = found is None or not stands_under(world, found.parent, task.id)
    said = world.correction(task.id)
    if said is not None and said.act == "unlink":
        return None, True
    if said is not None:
        link, _ = corrected.link_of(world, said)
        if link is not None and world.task(link.parent) and not stands_under(world, link.parent, task.id):
            return link, True
    return found if taken else None, taken


def stands_under(world: World, id: str, above: str) -> bool:
    """Whether `id` is `above`, or somewhere under it."""
    for _ in range(DEEPEST):
        if id == above:
            return True
        row = world.task(id)
        if row is None or not row.parent:
            return False
        id = row.parent
    return True


# -- where -------------------------------------------------------------------------------------------------------------


def _place(world: World, task: Task, new: bool) -> None:
    """A task that moves, or that its children have waited for, takes everything under it along."""
    waiting, passed = [(task, new)], set[str]()
    while waiting:
        one, fresh = waiting.pop()
        moved = _stand(world, one)
        if (moved or fresh) and one.id not in passed:
            passed.add(one.id)
            kids = (world.task(kid) for _, kid in world.span(key("kids", one.id)))
            waiting += [(kid, False) for kid in kids if kid is not None and kid.protocol]


def _stand(world: World, task: Task) -> bool:
    conversation, stood = _conversation(world, task), (task.conversation, task.line)
    moved = conversation != task.conversation
    if moved:
        _leave(world, task)
        task.conversation = conversation
    _count(world, task)
    _put_line(world, task)
    world.save("tasks", task)
    if (task.conversation, task.line) != stood:
        world.moved[task.id] = None
        for _, ref in world.span(key("in", task.id)) if task.last else ():
            world.unplaced[ref] = None  # requests on the wire that were sent in it
    return moved


def _conversation(world: World, task: Task) -> str:
    """The root's. Where the parent was never seen, its own."""
    top = task
    for _ in range(DEEPEST):
        above = world.task(top.parent)
        if above is None:
            break
        top = above
    return top.home or (top.conversation if not top.protocol else "") or task.home or ids.rooted_conversation_id(top.id)


def _put_line(world: World, task: Task) -> None:
    line = Line(task.conversation, task.conversation, "root")
    if task.kind == "sub":
        _drop_main(world, task)
        line = Line(task.id, task.conversation, "subtask", task.order or task.opened, task.place)
    elif world.line(task.id) is not None:
        world.drop("lines", task.id)
    task.line = line.id
    if world.line(line.id) != line:
        world.save("lines", line)


def _drop_main(world: World, task: Task) -> None:
    """It stood on the main line, and does no longer: where it was the only one, there is none."""
    row = world.conversation(task.conversation)
    if task.line != task.conversation or row is None or not row.protocol:
        return
    stands = key("stands", task.conversation)
    if not (_has_root(world, world.span(stands, limit=FIRST_FEW), task) or _has_root(world, world.span(stands), task)):
        world.drop("lines", task.conversation)


def _has_root(world: World, standing: list[tuple[int, str]], beside: Task) -> bool:
    found = (world.task(ref) for _, ref in standing)
    return any(one is not None and one.kind == "root" and one.id != beside.id for one in found)


# -- sums --------------------------------------------------------------------------------------------------------------


def _count(world: World, task: Task) -> None:
    known = world.conversation(task.conversation)
    row = known or Conversation(task.conversation, task.project, told=True, protocol=task.protocol)
    row.calls += task.calls - task.booked_calls
    row.usage = row.usage + task.usage - task.booked
    task.booked, task.booked_calls = task.usage, task.calls
    stands = key("stands", row.id)
    was_first = task.standing and task.stood == row.opened
    if task.stood != task.opened or not task.standing:
        if task.standing:
            world.unmark(stands, task.stood, task.id)
        world.mark(stands, task.opened, task.id)
        task.stood, task.standing = task.opened, True
    if row.protocol:
        _describe(world, row, task)
        if was_first and task.opened > row.opened:
            row.opened = _first(world, stands)  # only then is another one the first
        else:
            row.opened = min(row.opened, task.opened) if known is not None else task.opened
        _note_sign(world, row, task)
    world.save("conversations", row)


def _note_sign(world: World, row: Conversation, task: Task) -> None:
    """A message that is delivered again with a better time can make the last sign of life an earlier one."""
    now, before = last_sign(task), task.signed
    task.signed = now
    if now < before == row.active:
        standing = (world.task(ref) for _, ref in world.span(key("stands", row.id)))
        row.active = max(last_sign(one) for one in standing if one is not None)
    row.active = max(row.active, now)


def _describe(world: World, row: Conversation, task: Task) -> None:
    """Only the task whose context it is knows what its protocol calls it."""
    if task.home == row.id:
        row.refs = tuple(sorted({*row.refs, *(ref for ref in task.refs if ref.kind == "context")}))
        row.context = row.refs[0].value if row.refs else ""


def _leave(world: World, task: Task) -> None:
    row = world.conversation(task.conversation)
    if row is None or not task.standing:
        return
    stands = key("stands", row.id)
    world.unmark(stands, task.stood, task.id)
    row.calls -= task.booked_calls
    row.usage = row.usage - task.booked
    sign = max(task.signed, last_sign(task))
    task.booked, task.booked_calls, task.standing, task.signed = NOTHING, 0, False, 0
    if row.protocol and not world.span(stands, limit=1):
        world.drop("conversations", row.id)
        world.drop("lines", row.id)
        return
    _drop_main(world, task)
    if row.protocol:
        row.opened = _first(world, stands)
        if sign >= row.active or row.refs:
            _look_again(world, row, stands)
    world.save("conversations", row)


def _look_again(world: World, row: Conversation, stands: int) -> None:
    """Only where the one that left may have been what the conversation was known by: there may be very many."""
    standing = [ref for _, ref in world.span(stands)]
    world.gather("tasks", standing)
    rest = [one for ref in standing if (one := world.task(ref)) is not None]
    row.active = max(map(last_sign, rest), default=0)
    at_home = [one for one in rest if one.home == row.id]
    row.refs = tuple(sorted({ref for one in at_home for ref in one.refs if ref.kind == "context"}))


def _first(world: World, stands: int) -> int:
    found = world.span(stands, limit=1)
    return found[0][0] if found else 0


def last_sign(task: Task) -> int:
    return max(task.active, task.closed, task.opened, task.last_started, task.last_ended)
