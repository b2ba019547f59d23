"""Messages that were reported: whose line they are on, and which of them are prompts."""

from ramify.linking import echo, results, turns
from ramify.linking.authorship import judge_reported, prompt_in
from ramify.linking.statement import INSIDE, SIDE, line_agent, note_told, stated_task, warm_key
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Message, Told
from ramify.model.event import MessageSaid

COMMAND, BODY = 1, 2
WARM_UP = "Warmup"


def said(world: World, event: MessageSaid) -> None:
    scope = event.scope
    note_told(world, scope, event.at)
    row = _row(world, event)
    if row.side:
        _find_start(world, row)
        world.save("messages", row)
    row.agent = line_agent(world, scope, event.under, event.place)
    world.save("messages", row)
    if row.side and row.start == row.native:
        _open_side_line(world, row, event)
    if row.agent:
        row.line = ids.agent_task_id(row.project, row.session, row.agent)
        if event.under and not scope.agent:
            world.add(key("under", row.project, row.session, event.under), 0, row.id)
        return
    if not _is_echo(world, row, event):
        _say_on_main_line(world, row, event)


def _is_echo(world: World, row: Message, event: MessageSaid) -> bool:
    words = "\n\n".join(text.normal for text in event.part.texts if text.normal)
    if not words or event.part.role != "user" or event.message or event.part.results:
        return False

    def say_again(one: Message) -> None:
        told = world.loader.message(one.observation)
        if told is not None:
            _say_on_main_line(world, one, told)

    return echo.sort_out(world, row, words, say_again)


def _say_on_main_line(world: World, row: Message, event: MessageSaid) -> None:
    turns.put_on_line(world, row)
    if event.part.role == "user" and not event.message:
        _judge_prompt(world, row, event)
    row.line = turns.turn_of(world, row)
    world.save("messages", row)


def _row(world: World, event: MessageSaid) -> Message:
    """Several sources may tell of one message: the transcript's words and place are taken, if it is among them."""
    scope, place = event.scope, event.place
    id = ids.message_id(scope.project, place.id or event.observation)
    row = world.message(id) or Message(id, scope.project, native=place.id)
    if row.session and row.session != scope.session and not row.agent:
        turns.take_off_line(world, row)
    mine = (event.source != "transcript", event.at, event.observation)
    if not row.observation or mine < (row.source != "transcript", row.at, row.observation):
        if row.observation and not row.agent:
            turns.take_off_line(world, row)
            if row.opens:
                turns.lift_turn(world, row)
        row.at, row.observation, row.source = event.at, event.observation, event.source
        row.position = place.position if event.source == "transcript" else 0
    row.session = scope.session
    row.answer, row.under = row.answer or event.message, row.under or event.under
    row.before, row.side = row.before or place.before, row.side or (place.side and not scope.agent)
    return row


# -- prompts -----------------------------------------------------------------------------------------------------------


def _judge_prompt(world: World, row: Message, event: MessageSaid) -> None:
    """A slash command becomes a prompt by the body behind it; a local one has only output."""
    if event.source != "transcript" and row.source == "transcript":
        return  # whose word about it counts more
    words = None if event.hint.during_turn else prompt_in(event.part, event.hint)
    if words is not None and event.source != "transcript":
        world.mark(turns.asked_key(row.project, row.session), row.at, row.id)
        words = words if turns.began(world, row) else None
    if words is None and row.opens and event.source == "transcript":
        row.opens = False
        turns.close_turn(world, row)
    if event.hint.during_turn:
        return
    if words is not None:
        row.opens = True
        turns.open_turn(world, row, words)
        return
    authors = judge_reported(event.part, event.hint)
    kinds = {author.kind for _, author in authors}
    if "command" in kinds and not event.hint.meta:
        row.command = COMMAND
        world.save("messages", row)
        for _, ref in world.find(key("behind", row.project, row.native)):
            _open_command(world, row, event, world.message(ref))
    elif event.hint.meta and row.before and not kinds & {"caveat", "command-output"}:
        row.command = BODY
        world.add(key("behind", row.project, row.before), row.at, row.id)
        world.save("messages", row)
        command = world.message(ids.message_id(row.project, row.before))
        if command is not None and command.command == COMMAND:
            _open_command(world, command, None, row)


def _open_command(world: World, command: Message, event: MessageSaid | None, body: Message | None) -> None:
    if body is None or body.command != BODY or command.opens:
        return
    event = event or world.loader.message(command.observation)
    if event is None:
        return
    command.opens = True
    world.save("messages", command)
    turns.open_turn(world, command, "\n".join(text.normal for text in event.part.texts if text.normal))
    turns.place_again(world, command.id)


# -- side lines without an agent's id -----------------------------------------------------------------------------------


def _find_start(world: World, row: Message) -> None:
    """Old clients write a sub-agent's line into the session's file and name nobody: its first message stands for it."""
    before = world.message(ids.message_id(row.project, row.before)) if row.before else None
    row.start = before.start if before is not None and before.side else row.before or row.native
    world.add(key("following", row.project, row.before), row.at, row.id)
    _hand_down(world, row)


def _hand_down(world: World, row: Message) -> None:
    """What was read before its beginning was known."""
    waiting = [row]
    while waiting:
        above = waiting.pop()
        for _, ref in world.find(key("following", above.project, above.native)):
            below = world.message(ref)
            if below is None or below.start == row.start or below.id == row.id:
                continue
            below.start = row.start
            below.agent = f"{SIDE}{row.start}"
            below.line = ids.agent_task_id(below.project, below.session, below.agent)
            world.save("messages", below)
            _move_answer(world, below)
            waiting.append(below)


def _move_answer(world: World, row: Message) -> None:
    call = world.call(ids.seen_call_id(row.project, row.answer)) if row.answer else None
    if call is not None and call.agent.startswith(INSIDE) and call.agent != row.agent:
        call.agent = row.agent
        world.save("calls", call)
        world.unplaced[call.id] = None


def _label_warm_up(world: World, row: Message) -> None:
    """2.0 starts agents that nobody asked for, to fill the cache: helper calls, and no task."""
    world.add(warm_key(row.project, row.session, row.agent), 0, row.id)
    for _, ref in world.find(key("in", ids.agent_task_id(row.project, row.session, row.agent))):
        world.unplaced[ref] = None


def _open_side_line(world: World, row: Message, event: MessageSaid) -> None:
    words = "\n\n".join(text.normal for text in event.part.texts if text.normal)
    if words == WARM_UP:
        _label_warm_up(world, row)
        return
    task, stated = stated_task(world, row.project, row.session, row.agent)
    stated.opened, stated.prompt = row.at, words
    stated.told = (Told("opened", row.source, row.observation),)
    prompt = results.prompt_key(words)
    world.add(key("lines", row.project, row.session, prompt), row.position, task.id)
    for _, ref in world.find(key("lines", row.project, row.session, prompt)):
        world.retold[ref] = None
