"""The dashboard: files that were built into the package, served from memory under a strict policy."""

import gzip
from mimetypes import guess_type
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from ramify.web.built import STATIC
from ramify.web.overview import PLACES
from ramify.web.served import Serve

PAGES = (
    "", "latest", "task", "conversations", "conversation", "calls", "search", "compare", "findings", "statistics",
    "health", "audit", "operations", "operation", "events",
)  # fmt: skip
ELSEWHERE = "(?!(?:api|v1|anthropic|openai|a2a|webhook)(?:/|$))"  # a wrong address of the API is not answered with a page
# What was captured is hostile: nothing is run, loaded or framed that is not our own. Captured images are `data:`.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "vary": "accept-encoding",
}
FOREVER = "public, max-age=31536000, immutable"  # names of assets hold a hash of what is in them


class File(NamedTuple):
    body: bytes
    packed: bytes
    kind: str
    caching: str


def read_files(folder: Path) -> dict[str, File]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): read_file(path) for path in found}


def read_file(path: Path) -> File:
    body = path.read_bytes()
    kind = guess_type(path.name)[0] or "application/octet-stream"
    caching = FOREVER if path.parent.name == "assets" else "no-cache"
    return File(body, gzip.compress(body, 9, mtime=0), kind, caching)


def paged(folder: Path = STATIC) -> Serve:
    """Every address that is no question: a file by its name, else the page, which finds out what is meant."""
    files = read_files(folder)

    async def serve(request: web.Request) -> web.StreamResponse:
        name = request.match_info["tail"]
        if not name and "application/json" in request.headers.get("accept", ""):
            return web.json_response({"name": "ramify", "places": PLACES})
        if name in files and name != "index.html":
            return answer(request, files[name], 200)
        known = name.partition("/")[0] in PAGES
        if "index.html" not in files:
            return web.Response(text=unbuilt(), content_type="text/html", headers=HEADERS)
        return answer(request, files["index.html"], 200 if known else 404)

    return serve


def answer(request: web.Request, file: File, status: int) -> web.Response:
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {**HEADERS, "cache-control": file.caching} | ({"content-encoding": "gzip"} if packed else {})
    return web.Response(
        status=status, body=file.packed if packed else file.body, content_type=file.kind, charset="utf-8", headers=headers
    )


def unbuilt() -> str:
    """Only from a checkout: a wheel always has the page in it."""
    rows = "".join(f'<li>{name}: <a href="{path}"><code>{path}</code></a></li>' for name, path in PLACES.items())
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Ramify</title><h1>Ramify</h1>"
        "<p>The server runs, but its page was not built yet. In the checkout, run <code>make web</code> "
        f"and start the server again. Until then:</p><ul>{rows}</ul></html>"
    )
