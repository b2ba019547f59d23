"""The event log: operations, and the events themselves. The command line sees every session."""

from ramify.cli import columns
from ramify.cli.draw_list import draw_list
from ramify.cli.parser import Parser, add_filter, add_paging, add_reading
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session, gather, show_page
from ramify.cli.words import plural

NOTHING_YET = "nothing in the event log yet — see ramify import --format adcp, or POST /api/events"
NOTHING_FITS = "nothing fits — use fewer filters"
FILTERS = {
    "operation_id": ("--operation", "ID", "only events of this operation"),
    "agent_id": ("--agent", "NAME", "only events of this agent"),
    "agent_task_id": ("--task", "ID", "only events of the task that the agent calls so"),
    "event_type": ("--type", "WORD", "only this type of event, such as status_update"),
    "task_type": ("--task-type", "NAME", "only events of this tool or skill"),
    "status": ("--status", "WORD", "only events that tell of this status"),
    "source": ("--source", "WORD", "client, webhook, poll, listing, stream or reconciler"),
}


def operation_options(parser: Parser) -> None:
    add_filter(parser, "FILTER", "only what fits: status:partial agent:mcp_* tool:get_products since:2h words -word; see the page on queries")
    session_options(parser)


def session_options(parser: Parser) -> None:
    add_reading(parser)
    add_paging(parser)
    parser.add_argument("--session", metavar="NAME", help="only this session, by its public name; `local` is what was imported")


def event_options(parser: Parser) -> None:
    session_options(parser)
    for name, (flag, metavar, meaning) in FILTERS.items():
        parser.add_argument(flag, dest=name, metavar=metavar, help=meaning)


def operations(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.operations(
                session=asked.session, project=session.settings.project, filter=asked.filter, limit=limit, cursor=cursor
            ),
            asked.limit,
            asked.cursor,
        )
    lines = draw_list(columns.OPERATIONS, answer["items"], session.output.width, session.output.now)
    return show_page(session, answer, lines, NOTHING_FITS if asked.session or asked.filter else NOTHING_YET)


def events(session: Session) -> int:
    asked = session.arguments
    fields = {name: getattr(asked, name) for name in FILTERS}
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.events(
                session=asked.session, project=session.settings.project, limit=limit, cursor=cursor, **fields
            ),
            asked.limit,
            asked.cursor,
        )
    lines = draw_list(columns.EVENTS, answer["items"], session.output.width, session.output.now)
    return show_page(session, answer, lines, NOTHING_FITS if asked.session or any(fields.values()) else NOTHING_YET)


def reconcile_options(parser: Parser) -> None:
    add_reading(parser, "agents", "asking")


def reconcile(session: Session) -> int:
    with session.opened(write=True) as store:
        report = store.reconcile(session.settings)
    if session.output.json:
        session.output.document(report)
        return 0
    counts = ("corrected", "unchanged", "missing", "anomalies")
    session.output.lines([f"asked about {plural(report['checked'], 'task')}: " + ", ".join(f"{report[name]} {name}" for name in counts)])
    for error in report["errors"]:
        session.output.say(f"{one_line(error['agentId'])}: {one_line(error['reason'])}")
    for one in report["unnamed"]:
        session.output.say(f"{one_line(one['agentId'])}: {one['reason']} — {one_line(one['hint'])}")
    return 0


FAMILY = {
    "operations": Part(operation_options, operations),
    "events": Part(event_options, events),
    "reconcile": Part(reconcile_options, reconcile),
}
