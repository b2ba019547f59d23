"""Conversations. Their tree is asked for like a task's."""

from ramify.query.service import Answer
from ramify.web.route import Asked

LONGEST = 80


def listed(asked: Asked) -> Answer:
    return asked.ramify.questions.conversations(**asked.given)


def forgotten(asked: Asked) -> Answer:
    return asked.ramify.forget_one(asked.path["id"], signed(asked.given["by"] or ""))


def signed(by: str) -> str:
    """One short line: it stays when all else is gone."""
    return " ".join(by.split())[:LONGEST]


def leaving(asked: Asked) -> Answer:
    return asked.ramify.leaving(asked.path["id"])


def notes(asked: Asked) -> Answer:
    return asked.ramify.notes()


def shown(asked: Asked) -> Answer:
    return asked.ramify.questions.conversation(asked.path["id"])
