"""One thing, asked each way: tree, show, messages, flow, subtasks, tools, tool, reasoning, why."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from ramify.cli import columns
from ramify.cli.contract import Opened
from ramify.cli.draw_blocks import Page
from ramify.cli.draw_flow import draw_flow
from ramify.cli.draw_list import draw_list
from ramify.cli.draw_messages import Transcript, draw_messages
from ramify.cli.draw_reasoning import draw_reasoning
from ramify.cli.draw_record import draw_record
from ramify.cli.draw_tool import draw_tool
from ramify.cli.draw_tree import draw_tree, summary, walk
from ramify.cli.draw_why import draw_why
from ramify.cli.parser import Parser, add_filter, add_paging, add_reading, add_tree
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session, gather, show_page
from ramify.cli.words import Record
from ramify.query.flow import flow as flow_of

MOST_REFUSALS = 20
WIDEST_PAGE = 120  # beyond it the eye loses the line between a call and its outcome


def id_options(parser: Parser) -> None:
    parser.add_argument(
        "id", metavar="ID", help="Ramify's id, or any id of its own protocol (protocol:kind:value is exact)"
    )
    add_reading(parser)


def tree_options(parser: Parser) -> None:
    id_options(parser)
    parser.add_argument("--ids", action="store_true", help="each task's id at the end of its line")


def many_options(parser: Parser) -> None:
    id_options(parser)
    add_tree(parser)
    add_paging(parser)


def used_options(parser: Parser) -> None:
    many_options(parser)
    add_filter(parser, "FILTER", "only what fits: status:error tool:Bash agent:HR* duration>5s words -word; see the page on queries")


def full_options(parser: Parser) -> None:
    id_options(parser)
    add_full(parser)


def message_options(parser: Parser) -> None:
    many_options(parser)
    add_full(parser)


def tool_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="CALL_ID", help="the call's id as its protocol writes it, or Ramify's")
    add_reading(parser)
    add_full(parser)


def add_full(parser: Parser) -> None:
    parser.add_argument("--full", action="store_true", help="fold nothing")


def page_of(session: Session) -> Page:
    width = min(session.output.width, WIDEST_PAGE)
    return Page(width, session.output.now, getattr(session.arguments, "full", False))


def answered(session: Session, answer: dict[str, Any], lines: list[Text]) -> int:
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines(lines)
    return 0


def tree(session: Session) -> int:
    with session.opened() as store:
        answer = store.questions.tree(session.arguments.id)
    lines = draw_tree(answer, session.output.width, session.output.now, session.arguments.ids)
    return answered(session, answer, [*lines, Text(summary(answer), "dim")])


def show(session: Session) -> int:
    with session.opened() as store:
        answer = store.questions.show(session.arguments.id)
    return answered(session, answer, draw_record(answer, page_of(session)))


def subtasks(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.subtasks(asked.id, tree=asked.tree, limit=limit, cursor=cursor),
            asked.limit,
            asked.cursor,
        )
    lines = draw_list(columns.TASKS, answer["items"], session.output.width, session.output.now)
    return show_page(session, answer, lines, "it gave no task to anybody")


def tools(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.tools(asked.id, tree=asked.tree, filter=asked.filter, limit=limit, cursor=cursor),
            asked.limit,
            asked.cursor,
        )
    lines = draw_list(columns.TOOLS, answer["items"], session.output.width, session.output.now)
    return show_page(session, answer, lines, "nothing fits — use fewer filters" if asked.filter else "it used no tool")


def tool(session: Session) -> int:
    with session.opened() as store:
        answer = store.questions.tool(session.arguments.id)
    page = Page(session.output.width, session.output.now, session.arguments.full)
    return answered(session, answer, draw_tool(answer, page))


def messages(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.messages(asked.id, tree=asked.tree, limit=limit, cursor=cursor),
            asked.limit,
            asked.cursor,
        )
        transcript = None if session.output.json else around(store, asked.id, asked.tree, answer["items"])
        lines = [*draw_messages(transcript, page_of(session)), *refusals(store, answer["items"], transcript.tasks, page_of(session))] if transcript else []
    return show_page(session, answer, lines, "nothing was said")


def around(store: Opened, id: str, tree: bool, items: list[Any]) -> Transcript:
    """The messages, with what is known of the tools they use and the tasks these started."""
    ask = store.questions
    tools = gather(lambda limit, cursor: ask.tools(id, tree=tree, limit=limit, cursor=cursor), 0, None)["items"]
    answer = ask.tree(id)
    roots = [answer] if "roots" not in answer else [*answer["roots"], *(answer.get("unattached") or [])]
    files = ask.files(id)
    tasks = {node.task["id"]: {**node.task, "files": files.get(node.task["id"])} for root in roots for node in walk(root)}
    for asker in {message.get("author_id") for message in items} - set(tasks) - {None}:
        # The agent that wrote this task's prompt stands above the tree that was asked for.
        found = ask.tasks(ids=[str(asker)])["items"]
        tasks.update({task["id"]: task for task in found})
    return Transcript(items, {tool["call_id"]: tool for tool in tools}, tasks)


def refusals(store: Opened, messages: Sequence[Record], tasks: Mapping[str, Record], page: Page) -> list[Text]:
    """A task that failed because its last call did: nobody said why, but the API did."""
    told = dict.fromkeys(message.get("task") for message in messages)
    failed = [id for id in told if tasks.get(id or "", {}).get("status") == "failed"][:MOST_REFUSALS]
    calls = [call for id in failed for call in store.questions.calls(task=id, status="error", limit=1)["items"]]
    return [line for call in calls for line in page.prose(Text(f"✗ the API refused: {call['http_status'] or ''} {one_line(call['error'] or '')}", "red"))]


def reasoning(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        answer = gather(
            lambda limit, cursor: store.questions.reasoning(asked.id, tree=asked.tree, limit=limit, cursor=cursor),
            asked.limit,
            asked.cursor,
        )
    return show_page(session, answer, draw_reasoning(answer["items"], page_of(session)), "no reasoning was seen")


def flow(session: Session) -> int:
    with session.opened() as store:
        answer = flow_of(store.questions, session.arguments.id)
    return answered(session, answer, draw_flow(answer, session.output.width, session.output.now))


def why(session: Session) -> int:
    with session.opened() as store:
        answer = store.questions.why(session.arguments.id)
    return answered(session, answer, draw_why(answer, session.output.width))


FAMILY = {
    "tree": Part(tree_options, tree),
    "show": Part(full_options, show),
    "messages": Part(message_options, messages),
    "subtasks": Part(many_options, subtasks),
    "tools": Part(used_options, tools),
    "tool": Part(tool_options, tool),
    "reasoning": Part(many_options, reasoning),
    "flow": Part(id_options, flow),
    "why": Part(id_options, why),
}
