"""The event log for whoever runs the server: every session, as the command line sees it. Callers see their own elsewhere."""

from ramify.query.service import Answer
from ramify.web.route import Asked


def operations(asked: Asked) -> Answer:
    return asked.ramify.questions.operations(**asked.given)


def operation(asked: Asked) -> Answer:
    return asked.ramify.questions.tree(asked.path["id"])


def events(asked: Asked) -> Answer:
    return asked.ramify.questions.events(**asked.given)


def sessions(asked: Asked) -> Answer:
    return {"items": asked.ramify.events.sessions(asked.given["limit"]), "next": None}
