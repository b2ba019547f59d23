"""Search, and where things are."""

from ramify.query.filter_help import filter_help
from ramify.query.service import Answer
from ramify.web.route import Asked

PLACES = {
    "tasks": "/api/tasks?roots=true",
    "conversations": "/api/conversations",
    "calls": "/api/calls",
    "operations": "/api/all/operations",
    "live": "/api/live",
    "health": "/api/health",
    "description": "/api/openapi.json",
}


def search(asked: Asked) -> Answer:
    given = dict(asked.given)
    text = " ".join(part for part in (given.pop("q"), given.pop("filter")) if part)
    return asked.ramify.questions.search(text, **given)


def filter(asked: Asked) -> Answer:
    given = asked.given
    text = given["q"] or ""
    return filter_help(asked.ramify.questions.store, given["list"], text, len(text) if given["at"] is None else given["at"])
