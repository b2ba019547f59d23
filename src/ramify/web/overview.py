"""Search, health, and where things are."""

from ramify.query.filter_help import filter_help
from ramify.query.service import Answer
from ramify.storage.base import StoreDown
from ramify.web.route import Asked

AWAY = "the store does not answer: what is seen waits in the spool, and nothing can be shown"
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


def health(asked: Asked) -> Answer:
    """Also while the store is away: then above all somebody wants to know. The log goes as far as was heard of last."""
    found = asked.ramify.health()
    try:
        return {**found, "seq": asked.ramify.questions.seq()}
    except StoreDown:
        return {**found, "status": "degraded", "notices": [*found.get("notices", []), AWAY]}
