"""A person's word about a link."""

from ramify.cli.asking import answered
from ramify.cli.draw_why import draw_why
from ramify.cli.parser import Parser, add_reading
from ramify.cli.session import Part, Session


def link_options(parser: Parser) -> None:
    parser.add_argument("child", metavar="CHILD", help="the task that was started")
    parser.add_argument("parent", metavar="PARENT", help="the task, or the tool call, that started it")
    add_reading(parser)


def unlink_options(parser: Parser) -> None:
    parser.add_argument("child", metavar="CHILD", help="the task that is to stand alone")
    parser.add_argument("--withdraw", action="store_true", help="take back what was said about it: the rules decide again")
    add_reading(parser)


def link(session: Session) -> int:
    with session.opened(write=True) as store:
        answer = store.link(session.arguments.child, session.arguments.parent)
        session.note(store, "link", session.arguments.child, {"parent": session.arguments.parent})
    return answered(session, answer, draw_why(answer, session.output.width))


def unlink(session: Session) -> int:
    with session.opened(write=True) as store:
        act = store.withdraw if session.arguments.withdraw else store.unlink
        answer = act(session.arguments.child)
        session.note(store, "withdraw" if session.arguments.withdraw else "unlink", session.arguments.child)
    return answered(session, answer, draw_why(answer, session.output.width))


FAMILY = {"link": Part(link_options, link), "unlink": Part(unlink_options, unlink)}
