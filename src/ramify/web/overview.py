"""Search, totals, health, and the page that says where things are."""

from aiohttp import web

from ramify.query.service import Answer
from ramify.web.route import Asked

PLACES = {
    "tasks": "/api/tasks?roots=true",
    "conversations": "/api/conversations",
    "calls": "/api/calls",
    "live": "/api/live",
    "health": "/api/health",
    "description": "/api/openapi.json",
}


def search(asked: Asked) -> Answer:
    given = dict(asked.given)
    return asked.ramify.questions.search(given.pop("q"), **given)


def stats(asked: Asked) -> Answer:
    return asked.ramify.stats()


def health(asked: Asked) -> Answer:
    return asked.ramify.health()


async def root(request: web.Request) -> web.Response:
    if "application/json" in request.headers.get("accept", ""):
        return web.json_response({"name": "ramify", "places": PLACES})
    rows = "".join(
        f'<li>{name}: <a href="{path}"><code>{path}</code></a></li>' for name, path in PLACES.items()
    )
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>Ramify</title><h1>Ramify</h1>"
    return web.Response(text=f"{head}<ul>{rows}</ul></html>", content_type="text/html")
