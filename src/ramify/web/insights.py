"""What is found out about runs: sums, comparisons, findings."""

from ramify.query.service import Answer
from ramify.web.route import Asked


def stats(asked: Asked) -> Answer:
    given = dict(asked.given)
    by = given.pop("by")
    return asked.ramify.questions.statistics(by, **given) if by else asked.ramify.stats()


def compare(asked: Asked) -> Answer:
    return asked.ramify.questions.compare(asked.given["a"], asked.given["b"])


def lint(asked: Asked) -> Answer:
    return {**asked.ramify.questions.lint(**asked.given), "hook": asked.ramify.hook()}
