"""Observations, one at a time."""

from ramify.query.observed import observed
from ramify.query.service import Answer
from ramify.web.route import Asked


def shown(asked: Asked) -> Answer:
    return observed(asked.ramify.questions.store, asked.path["id"])
