"""The client's own sums, compared with the calls at hand: what no call explains is booked on the root task.

Cumulative on both sides, so that a call which the client counted a turn later is not booked twice.
"""

from msgspec import structs

from ramify.linking import rollup, turns
from ramify.linking.conversation import FAILED
from ramify.linking.world import FOREVER, World, key
from ramify.model.entity import Call, Conversation, Report
from ramify.model.event import UsageReported
from ramify.model.usage import NOTHING, Usage


def reported(world: World, event: UsageReported) -> None:
    scope = event.scope
    conversation = turns.conversation_of(scope.project, scope.session)
    total = NOTHING
    for _, tokens, cost in event.models:
        total = total + Usage(
            0, tokens.input, tokens.output, tokens.cache_read, tokens.write_5m + tokens.write_1h, cost or 0, int(cost is None)
        )
    row = Report(event.observation, conversation, event.at, event.since_last, total, source=event.source)
    if event.turn is not None:
        row.turn = Usage(0, event.turn.input, event.turn.output, event.turn.cache_read, event.turn.write_5m + event.turn.write_1h)
    world.save("reports", row)
    world.mark(key("reports", conversation), event.at, event.observation)
    world.recounted[conversation] = None


def compare(world: World) -> None:
    """Once for all that came together: what it costs grows with the length of the conversations."""
    for conversation in world.recounted:
        _compare(world, conversation)
    world.recounted.clear()


def _compare(world: World, conversation: str) -> None:
    """Books anew what the reports say beyond the calls that began before them."""
    row = world.conversation(conversation)
    every = [report for _, ref in world.span(key("reports", conversation)) if (report := world.report(ref))]
    if row is None or not every:
        return
    before = {report.task for report in every}
    row.summed = _until(world, row, every[-1], FOREVER)
    more = _beyond_calls(world, row, every)
    for report in every:
        _assign(world, row, report, more.get(report.id, NOTHING))
    for task in sorted((before | {report.task for report in every}) - {""}):
        booked = sum((report.booked for report in every if report.task == task), NOTHING)
        rollup.book(world, "tasks", world.task(task), booked)
    rollup.book(world, "conversations", row, sum((report.booked for report in every), NOTHING))
    world.save("conversations", row)


def _beyond_calls(world: World, row: Conversation, every: list[Report]) -> dict[str, Usage]:
    members = [call for call in world.members(row.id) if call.started <= row.summed]
    used = _believed(every, bool(row.forked_from)) if _is_partly_seen(members) else []
    calls = sorted(((call.started, rollup.counted(call)) for call in members), key=lambda one: one[0])
    told, booked, explained, at = NOTHING, NOTHING, NOTHING, 0
    base, previous = NOTHING, NOTHING
    found: dict[str, Usage] = {}
    for report in used:
        told, base = _total(told, base, report, previous)
        previous = report.usage
        until = _until(world, row, report, FOREVER if report is used[-1] else report.at)
        while at < len(calls) and calls[at][0] <= until:
            explained, at = explained + calls[at][1], at + 1
        found[report.id] = _beyond(_beyond(told, explained), booked)
        booked = booked + found[report.id]
    return found


def _is_partly_seen(calls: list[Call]) -> bool:
    """Where the wire shows every call that anybody reports, and to its end, it shows the helpers too: nothing is missing."""
    wire = [call for call in calls if call.relation != "seen"]
    return not wire or len(wire) < len(calls) or any(call.message and call.status in FAILED for call in wire)


def _total(told: Usage, base: Usage, report: Report, previous: Usage) -> tuple[Usage, Usage]:
    """Sums since the beginning begin anew with each process of older clients: then they are smaller than the last, or
    grew by less than the turn that ended."""
    if report.since_last:
        return told + report.usage, base
    smaller = _beyond(previous, report.usage) != NOTHING
    if smaller or _beyond(report.turn, report.usage - previous) != NOTHING:
        base = base + previous
    return base + report.usage, base


def _until(world: World, row: Conversation, report: Report, otherwise: int) -> int:
    """A report is written down when its run is over: all that began before the next prompt is in it."""
    following = world.span(turns.turns_key(turns.TIME, row.project, row.session), report.at + 1, limit=1)
    return following[0][0] - 1 if following else otherwise


def _believed(reports: list[Report], forked: bool) -> list[Report]:
    """Sums since the last one add up. A sum since the beginning says the same again, and a fork's has its origin's in it.

    Where two sources have such sums, each tells the whole: whoever knows of more is believed, at best in the order of the file.
    """
    since_last = [report for report in reports if report.since_last]
    if since_last or forked:
        return since_last
    sources = sorted({report.source for report in reports}, key=lambda source: (source != "transcript", source))
    return max(([one for one in reports if one.source == source] for source in sources), key=_tokens_in)


def _tokens_in(reports: list[Report]) -> int:
    told, base, previous = NOTHING, NOTHING, NOTHING
    for report in reports:
        told, base = _total(told, base, report, previous)
        previous = report.usage
    return told.input + told.output + told.cache_read + told.cache_write


def _beyond(one: Usage, other: Usage) -> Usage:
    """How much more the first has; never less than nothing. Money that has no price on one side has none here."""
    more = one - other
    tokens = Usage(0, max(more.input, 0), max(more.output, 0), max(more.cache_read, 0), max(more.cache_write, 0))
    if tokens == NOTHING:
        return NOTHING
    unpriced = bool(one.unpriced or other.unpriced)
    return structs.replace(tokens, cost_nano=0 if unpriced else max(more.cost_nano, 0), unpriced=int(unpriced))


def _assign(world: World, row: Conversation, report: Report, more: Usage) -> None:
    root = turns.root_at(world, row.project, row.session, report.at) if more != NOTHING else ""
    if (report.booked, report.task) != (more, root):
        report.booked, report.task = more, root
        world.save("reports", report)
