"""Messages that were reported: whose line they are on, and which of them are prompts."""

from msgspec import structs

from ramify.linking import echo, hooked, results, sighting, speaker, statement, turns, warmups
from ramify.linking.authorship import judge_reported, prompt_in
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Message
from ramify.model.event import MessageSaid

COMMAND, BODY = 1, 2
WARM_UP = "Warmup"
TELEMETRY, REQUEST = "otel", "req_"


def said(world: World, event: MessageSaid) -> None:
    scope = event.scope
    id = ids.message_id(scope.project, event.place.id or event.observation)
    row = world.message(id) or Message(id, scope.project, native=event.place.id)
    was = structs.replace(row)
    _tell(row, event)
    if row.source == hooked.SOURCE:
        hooked.hear(world, was, row)
    _settle(world, was, row)
    _sort_echoes(world, row, event)
    if row.observation == event.observation:
        _judge(world, row, event)
        if was.observation and _begins_side_line(was):
            _close_side_line(world, was)
        if _begins_side_line(row):
            _open_side_line(world, row, event)


def _tell(row: Message, event: MessageSaid) -> None:
    """Several sources may tell of one message: the transcript's words and place are taken, if it is among them."""
    scope, place = event.scope, event.place
    known = {*row.also, row.observation, event.observation} - {""}
    mine = (event.source != "transcript", event.at, event.observation)
    if not row.observation or mine < (row.source != "transcript", row.at, row.observation):
        row.at, row.observation, row.source = event.at, event.observation, event.source
        row.position = place.position if event.source == "transcript" else 0
    row.also = tuple(sorted(known - {row.observation}))
    row.session = scope.session
    row.answer, row.before = _answer(row.answer, event), max(row.before, place.before)
    row.told_agent = max(row.told_agent, scope.agent)
    if not scope.agent:
        row.under, row.side = max(row.under, event.under), row.side or place.side


def _answer(known: str, event: MessageSaid) -> str:
    """Telemetry knows an answer by its request alone; whoever knows its own id knows it better."""
    if event.source == TELEMETRY:
        return known or event.message
    return max("" if known.startswith(REQUEST) else known, event.message) or known


def take_back(world: World, row: Message) -> None:
    """It is said in another session: here it was only copied."""
    if row.opens:
        turns.close_turn(world, row)
    was = structs.replace(row)
    for told in (world.loader.message(observation) for observation in (row.observation, *row.also)):
        if told is not None and _can_echo(row, told):
            echo.take(world, row, statement.words_of(told))
            _settle_echoes(world, row, statement.words_of(told))
    hooked.unhear(world, row)
    if _begins_side_line(row):
        _close_side_line(world, row)
    if row.command == BODY:
        world.remove(key("behind", row.project, row.before), row.at, row.id)
    row.at = row.position = row.command = 0
    row.observation = row.source = row.answer = row.session = row.under = row.before = row.told_agent = row.start = ""
    row.side, row.also, row.opens, row.echo = False, (), False, False
    _leave(world, was)
    world.save("messages", row)


def _sort_echoes(world: World, row: Message, event: MessageSaid) -> None:
    if _can_echo(row, event):
        echo.put(world, row, statement.words_of(event))
        _settle_echoes(world, row, statement.words_of(event))


def _can_echo(row: Message, event: MessageSaid) -> bool:
    """A prompt of the main line, as far as its words tell."""
    asked = event.part.role == "user" and not event.message and not event.part.results and event.source != hooked.SOURCE
    return asked and not row.agent and bool(statement.words_of(event))


def _settle_echoes(world: World, row: Message, words: str) -> None:
    for one in echo.sort_out(world, row.project, row.session, words):
        _settle(world, structs.replace(one, echo=not one.echo), one)
        if one.id != row.id:
            world.doubted[one.id] = None


def show(world: World, row: Message, echo: bool) -> None:
    """Somebody else tells of it as well, or nobody does any more."""
    was = structs.replace(row)
    row.echo = echo
    _settle(world, was, row)
    world.doubted[row.id] = None


# -- where it stands ---------------------------------------------------------------------------------------------------


def name_again(world: World, row: Message) -> None:
    """The name of whoever said it may be known by now."""
    _settle(world, structs.replace(row), row)


def name_line_again(world: World, call: Call) -> None:
    """The side line that an answer is on has the name of whoever gave it."""
    row = world.message(call.beside)
    waiting, passed = [row.start or row.native] if row is not None else [], set[str]()
    while row is not None and waiting:
        native = waiting.pop()
        above = world.message(ids.message_id(row.project, native))  # of the first, only those behind it may be known
        if above is not None:
            name_again(world, above)
            other = world.call(ids.seen_call_id(above.project, above.answer)) if above.answer else None
            if other is not None:
                sighting.name_again(world, other)
        passed.add(native)
        behind = [world.message(ref) for _, ref in world.find(warmups.following(row.project, native))]
        waiting += [one.native for one in behind if one is not None and one.start == row.start and one.native not in passed]


def _settle(world: World, was: Message, row: Message) -> None:
    if row.side:
        _find_start(world, row)
    row.agent = speaker.of_message(world, row)
    if _place(was) != _place(row):
        _leave(world, was)
        _enter(world, row)
    row.line = _line(world, row)
    world.save("messages", row)


def _line(world: World, row: Message) -> str:
    if row.echo:
        return ""
    return ids.agent_task_id(row.project, row.session, row.agent) if row.agent else turns.turn_of(world, row)


def _place(row: Message) -> tuple[object, ...]:
    return row.session, row.agent, row.under, row.at, row.position, row.source, row.echo


def _leave(world: World, was: Message) -> None:
    if not was.observation:
        return
    if was.under:
        world.unmark(key("under", was.project, was.session, was.under), 0, was.id)
    if not was.agent and not was.echo:
        hooked.wake(world, was)
        turns.take_off_line(world, was)
        turns.unask(world, was)
        if was.opens:
            turns.lift_turn(world, was)


def _enter(world: World, row: Message) -> None:
    if row.under:
        world.mark(key("under", row.project, row.session, row.under), 0, row.id)
    if not row.agent and not row.echo:
        hooked.wake(world, row)
        turns.put_on_line(world, row)


# -- prompts -----------------------------------------------------------------------------------------------------------


def judge_again(world: World, id: str) -> None:
    row = world.message(id)
    event = world.loader.message(row.observation) if row is not None and row.observation else None
    if row is not None and event is not None:
        _judge(world, row, event)


def _judge(world: World, row: Message, event: MessageSaid) -> None:
    asked = not (row.agent or row.echo or row.answer) and event.part.role == "user"
    words = _words(world, row, event) if asked else None
    if words is None and row.opens:
        turns.close_turn(world, row)
    row.opens = words is not None
    world.save("messages", row)
    if words is not None:
        turns.open_turn(world, row, words)
    row.line = _line(world, row)


def _words(world: World, row: Message, event: MessageSaid) -> str | None:
    """What a prompt asks for; None where it is none. Only a transcript says itself whether a turn began with it."""
    if event.hint.during_turn:
        return None
    words = prompt_in(event.part, event.hint)
    if words is None:
        return _command(world, row, event)
    if row.source == "transcript":
        return words
    if row.source == hooked.SOURCE:
        return words if hooked.begins(world, row) else None
    turns.ask(world, row)
    return words if turns.began(world, row) else None


def _command(world: World, row: Message, event: MessageSaid) -> str | None:
    """A slash command becomes a prompt by the body behind it; a local one has only output."""
    kinds = {author.kind for _, author in judge_reported(event.part, event.hint)}
    if "command" in kinds and not event.hint.meta:
        row.command = COMMAND
        behind = [world.message(ref) for _, ref in world.find(key("behind", row.project, row.native))]
        if any(body is not None and body.command == BODY for body in behind):
            return "\n".join(text.normal for text in event.part.texts if text.normal)
    elif event.hint.meta and row.before and not kinds & {"caveat", "command-output"}:
        row.command = BODY
        world.add(key("behind", row.project, row.before), row.at, row.id)
        world.doubted[ids.message_id(row.project, row.before)] = None
    return None


# -- side lines without an agent's id -----------------------------------------------------------------------------------


def _find_start(world: World, row: Message) -> None:
    """Old clients write a sub-agent's line into the session's file and name nobody: its first message stands for it."""
    before = world.message(ids.message_id(row.project, row.before)) if row.before else None
    row.start = before.start if before is not None and before.side else row.before or row.native
    if row.before:
        world.add(warmups.following(row.project, row.before), row.at, row.id)
    world.save("messages", row)
    _hand_down(world, row)


def _hand_down(world: World, row: Message) -> None:
    """What was read before its beginning was known."""
    waiting = [row]
    while waiting:
        above = waiting.pop()
        for _, ref in world.find(warmups.following(above.project, above.native)) if above.native else ():
            below = world.message(ref)
            if below is None or below.start == row.start or below.id == row.id:
                continue
            below.start = row.start
            _rename(world, below)
            waiting.append(below)


def _rename(world: World, row: Message) -> None:
    row.agent = speaker.of_message(world, row)
    row.line = ids.agent_task_id(row.project, row.session, row.agent)
    world.save("messages", row)
    call = world.call(ids.seen_call_id(row.project, row.answer)) if row.answer else None
    if call is not None:
        sighting.name_again(world, call)


def _begins_side_line(row: Message) -> bool:
    return row.side and row.start == row.native


def _open_side_line(world: World, row: Message, event: MessageSaid) -> None:
    side, words = speaker.side_of(row), statement.words_of(event)
    task = ids.agent_task_id(row.project, row.session, side)
    if words == WARM_UP:
        warmups.label(world, row, side)
        return
    statement.tell(world, event.scope, side, event)
    _wake_lines(world, row, words, task)


def _wake_lines(world: World, row: Message, words: str, task: str) -> None:
    lines = key("lines", row.project, row.session, results.prompt_key(words))
    world.add(lines, row.position, task)
    for _, ref in world.find(lines):
        world.retold[ref] = None


def _close_side_line(world: World, row: Message) -> None:
    event = world.loader.message(row.observation)
    if event is None:
        return
    side = speaker.side_of(row)
    task = ids.agent_task_id(row.project, row.session, side)
    lines = key("lines", row.project, row.session, results.prompt_key(statement.words_of(event)))
    world.remove(lines, row.position, task)
    warmups.unlabel(world, row, side)
    statement.take_back(world, event.scope, side, event.observation)
    for _, ref in world.find(lines):
        world.retold[ref] = None
