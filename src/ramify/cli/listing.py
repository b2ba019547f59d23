"""Lists: conversations, tasks, calls, hits of a search."""

from typing import Any

from ramify.cli import columns
from ramify.cli.draw_list import draw_list
from ramify.cli.parser import STATUSES, Parser, add_filter, add_paging, add_reading, one_of
from ramify.cli.session import Part, Session, gather, show_page
from ramify.storage.sealing import INDEX_VARIABLE

NOTHING_YET = "nothing recorded yet — try ramify demo, or ramify run -- COMMAND"
NOTHING_FITS = "nothing fits — use fewer filters, or see ramify tasks"


FILTER = "only what fits: status:failed agent:HR* tool:Bash cost>0.5 since:2h words -word; see the page on queries"


def list_options(parser: Parser) -> None:
    add_filter(parser, "FILTER", FILTER)
    more_options(parser)


def more_options(parser: Parser) -> None:
    add_reading(parser)
    add_paging(parser)


def task_options(parser: Parser) -> None:
    list_options(parser)
    parser.add_argument("--roots", action="store_true", help="only tasks that no other task started")
    parser.add_argument("--conversation", metavar="ID", help="only tasks of this conversation")
    parser.add_argument("--status", type=one_of(*STATUSES), metavar="WORD", help=", ".join(STATUSES))


def call_options(parser: Parser) -> None:
    list_options(parser)
    parser.add_argument("--task", metavar="ID", help="only calls of this task")
    parser.add_argument("--conversation", metavar="ID", help="only calls of this conversation")
    kinds, statuses = ("main", "subagent", "utility"), ("ok", "error", "aborted", "running")
    parser.add_argument("--kind", type=one_of(*kinds), metavar="WORD", help=", ".join(kinds))
    parser.add_argument("--status", type=one_of(*statuses), metavar="WORD", help=", ".join(statuses))


def search_options(parser: Parser) -> None:
    add_filter(parser, "TEXT", "the words to look for; filters may stand among them: tool:Bash since:2h", needed=True)
    more_options(parser)


def conversations(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        project = session.settings.project
        answer = gather(
            lambda limit, cursor: store.questions.conversations(filter=asked.filter, limit=limit, cursor=cursor, project=project),
            asked.limit,
            asked.cursor,
        )
    return show(session, columns.CONVERSATIONS, answer, NOTHING_FITS if asked.filter else NOTHING_YET)


def tasks(session: Session) -> int:
    asked = session.arguments
    filters = {"roots": asked.roots, "conversation": asked.conversation, "status": asked.status, "filter": asked.filter}
    with session.opened() as store:
        project = session.settings.project
        answer = gather(
            lambda limit, cursor: store.questions.tasks(**filters, project=project, limit=limit, cursor=cursor),
            asked.limit,
            asked.cursor,
        )
    return show(session, columns.TASKS, answer, NOTHING_FITS if any(filters.values()) else NOTHING_YET)


def calls(session: Session) -> int:
    asked = session.arguments
    filters = {
        "task": asked.task,
        "conversation": asked.conversation,
        "kind": asked.kind,
        "status": asked.status,
        "filter": asked.filter,
    }
    with session.opened() as store:
        project = session.settings.project
        answer = gather(
            lambda limit, cursor: store.questions.calls(**filters, project=project, limit=limit, cursor=cursor),
            asked.limit,
            asked.cursor,
        )
    return show(session, columns.CALLS, answer, NOTHING_FITS if any(filters.values()) else NOTHING_YET)

A_FEW = 100  # a moment's worth, or what the command line noted of itself


def search(session: Session) -> int:
    text = session.arguments.filter
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.search(text, limit=limit, cursor=cursor),
            session.arguments.limit,
            session.arguments.cursor,
        )
    missing = answer["seq"] - answer["indexed"]
    if answer["indexing"] and missing > A_FEW:
        session.output.say(f"{missing:,} of {answer['seq']:,} observations cannot be searched yet — a server that runs goes on; without one: ramify serve")
    hint = "try fewer or other words" if answer["indexing"] else f"the store is encrypted, and what came since is not indexed unless {INDEX_VARIABLE}=yes"
    return show(session, columns.SEARCH, answer, f"nothing holds {text!r} — {hint}")


def show(session: Session, kinds: Any, answer: dict[str, Any], empty: str) -> int:
    lines = draw_list(kinds, answer["items"], session.output.width, session.output.now)
    return show_page(session, answer, lines, empty)


FAMILY = {
    "conversations": Part(list_options, conversations),
    "tasks": Part(task_options, tasks),
    "calls": Part(call_options, calls),
    "search": Part(search_options, search),
}
