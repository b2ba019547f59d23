"""Whose data a request brings along: decided at the door, read by every way in."""

from aiohttp import web
from multidict import istr

PROJECT = istr("x-ramify-project")
WHOSE: web.RequestKey[str] = web.RequestKey("whose")


def project_of(request: web.Request, default: str) -> str:
    return request.get(WHOSE) or request.headers.get(PROJECT) or default
