"""Model calls, and their bodies as they were on the wire."""

from ramify.query.service import Answer
from ramify.web.route import Asked, Download


def listed(asked: Asked) -> Answer:
    return asked.ramify.questions.calls(**asked.given)


def shown(asked: Asked) -> Answer:
    return asked.ramify.questions.call(asked.path["id"])


def request(asked: Asked) -> Download:
    return body(asked, "request")


def response(asked: Asked) -> Download:
    return body(asked, "response")


def body(asked: Asked, side: str) -> Download:
    raw, headers = asked.ramify.questions.body(asked.path["id"], side)
    return Download(raw, headers, f"{asked.path['id']}-{side}")
