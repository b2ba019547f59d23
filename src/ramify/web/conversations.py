"""Conversations. Their tree is asked for like a task's."""

from ramify.query.service import Answer
from ramify.web.route import Asked


def listed(asked: Asked) -> Answer:
    return asked.ramify.questions.conversations(**asked.given)


def forgotten(asked: Asked) -> Answer:
    return asked.ramify.forget_one(asked.path["id"])


def notes(asked: Asked) -> Answer:
    return asked.ramify.notes()


def shown(asked: Asked) -> Answer:
    return asked.ramify.questions.conversation(asked.path["id"])
