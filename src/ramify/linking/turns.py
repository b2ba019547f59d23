"""The main line of a session as reports tell it: prompts open root tasks, everything after belongs to the newest.

In a transcript the order of lines counts, for times there may run backwards; elsewhere time is all there is. A stream
without prompts still shows where a turn ended: then each turn is a root task whose prompt is unknown.
"""

from ramify.linking import rollup
from ramify.linking.world import FOREVER, World, key
from ramify.model import ids
from ramify.model.entity import Call, Message, Stated, Task
from ramify.model.event import TaskMoved

SLACK = 2_000_000  # a prompt is written down a moment before or after its request leaves
FILE, TIME = "file", "time"
ASKED, TOLD = "words-asked", "words-told"
INTERACTION = "interaction"  # an end of telemetry's: it knows when its turn began, and with what


def conversation_of(project: str, session: str) -> str:
    return ids.session_conversation_id(project, session)


def turns_key(axis: str, project: str, session: str) -> int:
    return key("turns", project, session, axis)


def main_key(axis: str, project: str, session: str) -> int:
    return key("main-line", project, session, axis)


def ends_key(project: str, session: str) -> int:
    return key("ends", project, session)


def marks_key(project: str, session: str) -> int:
    """Words about how a turn went that do not end it."""
    return key("marks", project, session)


def words_key(kind: str, project: str, session: str, words: str) -> int:
    return key(kind, project, session, " ".join(words.split()))


def used_key(project: str, session: str) -> int:
    """Tool calls of which hooks tell, by their time."""
    return key("hooks-used", project, session)



# -- where something stands --------------------------------------------------------------------------------------------


def turn_at(world: World, project: str, session: str, at: int) -> str:
    """The root task of the newest reported prompt at that time; empty where none is known."""
    return _newest(world, TIME, project, session, at)


def _newest(world: World, axis: str, project: str, session: str, place: int) -> str:
    found = world.span(turns_key(axis, project, session), 0, place, 1, newest=True)
    return found[0][1] if found else ""


def root_at(world: World, project: str, session: str, at: int) -> str:
    """The newest root task at that time, whoever knows of it."""
    told = turn_at(world, project, session, at)
    if told:
        return told
    roots = [ref for when, ref in world.find(key("roots", conversation_of(project, session))) if when <= at]
    return roots[-1] if roots else ""


def turn_of(world: World, row: Call | Message) -> str:
    """The root task of a reported call or message of the main line; it may be one whose prompt is unknown."""
    at, place = (row.started, row.order) if isinstance(row, Call) else (row.at, row.position)
    if place and (found := _newest(world, FILE, row.project, row.session, place)):
        return found
    known = world.span(turns_key(TIME, row.project, row.session), 0, at, 1, newest=True)
    began = boundary(world, row.project, row.session, at)
    if known and known[0][0] >= began:
        return known[0][1]
    return guessed_root(row.project, row.session, began)


def guessed_root(project: str, session: str, began: int) -> str:
    return ids.short("task", project, "turn", session, began)


def boundary(world: World, project: str, session: str, at: int) -> int:
    """Where the turn of that time began, by the ends that are known: behind one, if no notification began the next."""
    place = ends_key(project, session)
    following = world.span(place, at, limit=1)
    after = following[0][1] if following else "wake"
    for when, ref in reversed(world.span(place, 0, at - 1, 64, newest=True)):
        if after.startswith("turn "):
            return when
        after = ref
    return 0


def _own_ends(ends: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Of a turn whose prompt is unknown: its end, and those of the turns that notifications began behind it."""
    following = (place for place, (_, ref) in enumerate(ends) if place and ref.startswith("turn "))
    return ends[: next(following, len(ends))]


def reported_root(world: World, call: Call, asked: str | None) -> str:
    """The root task that reports give to a call of the wire's main line; empty where they say nothing."""
    conversation = world.conversation(conversation_of(call.project, call.session)) if call.session else None
    if conversation is None or not conversation.told:
        return ""
    twin = world.call(call.twin)
    if twin is not None:
        own = not twin.agent and twin.session == call.session  # what is told of a side line, or by a copy, is no turn of this line
        found = turn_of(world, twin) if own else ""
        task = world.task(found)
        return found if task is not None and task.stated is not None and not task.stated.guessed else ""
    if not asked:
        return ""
    fitting = world.span(words_key(TOLD, call.project, call.session, asked), 0, call.started + SLACK, 1, newest=True)
    return fitting[0][1] if fitting else ""


# -- what divides it ---------------------------------------------------------------------------------------------------


def put_on_line(world: World, row: Call | Message) -> None:
    """Remembered by its place, so that a prompt which comes late finds what belongs to it."""
    if isinstance(row, Call):
        world.silent[row.project, row.session] = None
    at, place = (row.started, row.order) if isinstance(row, Call) else (row.at, row.position)
    world.mark(main_key(TIME, row.project, row.session), at, row.id)
    if place:
        world.mark(main_key(FILE, row.project, row.session), place, row.id)


def take_off_line(world: World, row: Call | Message) -> None:
    if isinstance(row, Call):
        world.silent[row.project, row.session] = None
    at, place = (row.started, row.order) if isinstance(row, Call) else (row.at, row.position)
    world.unmark(main_key(TIME, row.project, row.session), at, row.id)
    if place:
        world.unmark(main_key(FILE, row.project, row.session), place, row.id)


def open_turn(world: World, row: Message, words: str) -> None:
    """A prompt that neither an agent nor the harness wrote."""
    id = root_id(row)
    task = world.task(id) or Task(id, row.project, kind="root")
    task.stated = task.stated or Stated()
    task.stated.opened, task.stated.prompt = row.at, words
    conversation = conversation_of(row.project, row.session)
    if task.conversation not in ("", conversation):  # it was taken for another session's
        rollup.forget_root(world, id, (task.kind, task.conversation, task.opened))
    task.conversation = task.line = conversation
    task.session = row.session
    world.save("tasks", task)
    world.mark(words_key(TOLD, row.project, row.session, words), row.at, id)
    for axis, place in ((TIME, row.at), (FILE, row.position)):
        if place:
            world.mark(turns_key(axis, row.project, row.session), place, id)
            _move_what_follows(world, axis, row.project, row.session, place)
    _wake_wire(world, row, words)
    world.retold[id] = world.silent[row.project, row.session] = None


def lift_turn(world: World, row: Message) -> None:
    """Takes a prompt off its place; another source knows a better one."""
    id = root_id(row)
    task = world.task(id)
    if task is not None and task.stated is not None:
        world.unmark(words_key(TOLD, row.project, row.session, task.stated.prompt), row.at, id)
        _wake_wire(world, row, task.stated.prompt)
    for axis, place in ((TIME, row.at), (FILE, row.position)):
        if place:
            world.unmark(turns_key(axis, row.project, row.session), place, id)
            _move_what_follows(world, axis, row.project, row.session, place)
    world.silent[row.project, row.session] = None


def close_turn(world: World, row: Message) -> None:
    """It was no prompt of this session after all."""
    lift_turn(world, row)
    task = world.task(root_id(row))
    if task is None:
        return
    task.stated = None
    if task.calls:
        world.save("tasks", task)
    else:
        rollup.drop(world, task)


# -- prompts of a stream, which does not say where a turn began ----------------------------------------------------------


def ask(world: World, row: Message) -> None:
    world.mark(_asked_key(row.project, row.session), row.at, row.id)
    _doubt_next(world, row.project, row.session, row.at + 1)


def unask(world: World, row: Message) -> None:
    world.unmark(_asked_key(row.project, row.session), row.at, row.id)
    _doubt_next(world, row.project, row.session, row.at + 1)


def began(world: World, row: Message) -> bool:
    """Whether a prompt began a turn: one that comes before the end of the turn that the one before it is in joins it."""
    places = (turns_key(TIME, row.project, row.session), _asked_key(row.project, row.session))
    earlier = [found[0][0] for place in places if (found := world.span(place, 0, row.at - 1, 1, newest=True))]
    if not earlier:
        return True
    return bool(world.span(ends_key(row.project, row.session), max(earlier), row.at, 1))


def _asked_key(project: str, session: str) -> int:
    return key("asked", project, session)


def _doubt_next(world: World, project: str, session: str, at: int) -> None:
    for _, ref in world.span(_asked_key(project, session), at, limit=1):
        world.doubted[ref] = None


def root_id(row: Message) -> str:
    return ids.short("task", row.project, "prompt", row.native or row.id)


def _move_what_follows(world: World, axis: str, project: str, session: str, place: int) -> None:
    """What stands between this prompt and the next belongs to it now; the turn before it may have ended otherwise."""
    following = world.span(turns_key(axis, project, session), place + 1, limit=1)
    until = following[0][0] - 1 if following else FOREVER
    for _, ref in world.span(main_key(axis, project, session), place, until):
        place_again(world, ref)
    if before := _newest(world, axis, project, session, place - 1):
        world.retold[before] = None
    if axis == TIME:
        world.retold[guessed_root(project, session, boundary(world, project, session, place))] = None
        for _, ref in world.span(used_key(project, session), place, until):
            world.asking[ref] = None
        _doubt_next(world, project, session, place + 1)
        rollup.wake_loose_told(world, conversation_of(project, session))
    conversation = world.conversation(conversation_of(project, session))
    if conversation is not None and conversation.summed:
        world.recounted[conversation.id] = None


def place_again(world: World, ref: str) -> None:
    call = world.call(ref)
    if call is not None:
        world.unplaced[ref] = world.retold[call.task] = None
        if call.twin:
            world.unplaced[call.twin] = None
        return
    row = world.message(ref)
    if row is not None and (task := turn_of(world, row)) != row.line:
        row.line = task
        world.save("messages", row)


def note_words(world: World, call: Call, asked: str) -> None:
    """A call of the wire that opens a root task by its words; a report may tell of the same prompt."""
    world.mark(words_key(ASKED, call.project, call.session, asked), call.started, call.id)


def _wake_wire(world: World, row: Message, words: str) -> None:
    for _, ref in world.span(words_key(ASKED, row.project, row.session, words), row.at - SLACK):
        world.unplaced[ref] = None


def end_turn(world: World, event: TaskMoved) -> None:
    world.mark(*_end(event))
    _place_around(world, event)


def unend_turn(world: World, event: TaskMoved) -> None:
    world.unmark(*_end(event))
    _place_around(world, event)


def _end(event: TaskMoved) -> tuple[int, int, str]:
    place = ends_key if event.wakes or event.ends_turn else marks_key
    kind = "wake" if event.wakes else "turn"
    return place(event.scope.project, event.scope.session), event.at, f"{kind} {event.status} {event.native or '-'} {event.observation}"


def _place_around(world: World, event: TaskMoved) -> None:
    """Only a turn's end tells whether a prompt began it."""
    project, session = event.scope.project, event.scope.session
    world.silent[project, session] = None
    earlier = world.span(ends_key(project, session), 0, event.at - 1, 1, newest=True)
    since = earlier[0][0] if earlier else 0
    for at in (since, event.at, event.began or event.at):
        world.retold[turn_at(world, project, session, at)] = None
        world.retold[guessed_root(project, session, boundary(world, project, session, at))] = None
    if event.wakes or event.ends_turn:
        _doubt_next(world, project, session, event.at)
        for _, ref in world.span(main_key(TIME, project, session), since):
            place_again(world, ref)


def last_end(world: World, task: Task) -> tuple[int, str, str]:
    """When and how the reports say that this root task ended: the newest word before the next prompt."""
    following = world.span(turns_key(TIME, task.project, task.session), task.opened + 1, limit=1)
    until = following[0][0] - 1 if following else FOREVER
    ends = ends_key(task.project, task.session)
    if task.stated is not None and task.stated.guessed:
        found = _own_ends(world.span(ends, task.opened, limit=16))
        until = found[-1][0] if found else until
    else:
        found = world.span(ends, task.opened, until, 16, newest=True)
    found = [end for end in found if _status_in(end[1])]
    found = sorted([*found, *world.span(marks_key(task.project, task.session), task.opened, until, 1, newest=True)])
    if not found:
        return 0, "", ""
    at, ref = found[-1]
    _, status, native, _ = ref.split(" ", 3)
    return at, status, native


def words_of(world: World, task: Task) -> str:
    """What a turn was asked, of which only the ends tell."""
    for _, ref in world.span(ends_key(task.project, task.session), task.opened, limit=16):
        _, _, native, observation = ref.split(" ", 3)
        for event in world.loader.told(observation) if native == INTERACTION else ():
            if isinstance(event, TaskMoved) and event.words and event.began <= task.opened:
                return event.words
    return ""


def _status_in(ref: str) -> str:
    """Empty where a local command ended."""
    return ref.split(" ", 2)[1]
