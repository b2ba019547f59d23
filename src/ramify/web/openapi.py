"""The description of the API in OpenAPI 3.1, made from the route table and the shapes."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from aiohttp import web

from ramify import __version__
from ramify.web.access_shapes import ACCESS_SHAPES
from ramify.web.event_shapes import EVENT_SHAPES
from ramify.web.insight_shapes import INSIGHT_SHAPES
from ramify.web.page_shapes import PAGE_SHAPES
from ramify.web.route import Parameter, Route
from ramify.web.served import Serve
from ramify.web.shapes import SHAPES

IN_PATH = re.compile(r"\{(\w+)\}")
SCHEMAS = "#/components/schemas/"
WITHOUT_SEQ = (
    "Error", "LoginWays", "Who", "LoggedOut", "Taken", "Playing", "Nothing", "Alive", "Ready", *(shape.__name__ for shape in EVENT_SHAPES),
)  # said without looking at the store
ALSO = {"Ready": ("503",), "Posted": ("400",)}  # answers that say what they have to say with another status
SEQ = {"type": "integer", "description": "the log's sequence number that this answer rests on"}

Document = dict[str, Any]


def describe(routes: Iterable[Route]) -> Document:
    paths: dict[str, Document] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operation(route)
    _, components = msgspec.json.schema_components((*SHAPES, *PAGE_SHAPES, *INSIGHT_SHAPES, *EVENT_SHAPES, *ACCESS_SHAPES), ref_template=SCHEMAS + "{name}")
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ramify", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": bearer}},
        "security": [{}, {"token": []}],
    }


def operation(route: Route) -> Document:
    described: Document = {
        "summary": route.summary,
        "operationId": operation_id(route),
        "parameters": [in_path(name) for name in IN_PATH.findall(route.path)]
        + [in_query(parameter) for parameter in route.parameters],
        "responses": {
            "200": {"description": "the answer", "content": content(route.shape)},
            "default": {"description": "what was wrong, and what to do", "content": content("Error")},
        },
    }
    if route.scope == "open":
        described["security"] = [{}]
    else:
        described["security"] = [{}, {"token": [] if route.scope == "any" else [route.scope]}]
    for status in ALSO.get(route.shape, ()):
        described["responses"][status] = {"description": "likewise, or what was wrong", "content": either(route.shape)}
    if route.takes:
        schema = {"$ref": SCHEMAS + route.takes}
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return described


def operation_id(route: Route) -> str:
    words = IN_PATH.sub(r"by_\1", route.path.removeprefix("/api/"))
    return f"{route.method.lower()}_{re.sub(r'[^a-z_]+', '_', words)}"


def content(shape: str) -> Document:
    """A name, a list of it (`[Task]`), or "" for what is no JSON."""
    if not shape:
        return {"*/*": {}}
    if shape in WITHOUT_SEQ:
        return {"application/json": {"schema": {"$ref": SCHEMAS + shape}}}
    with_seq = {"type": "object", "properties": {"seq": SEQ}, "required": ["seq"]}
    return {"application/json": {"schema": {"allOf": [listed(shape), with_seq]}}}


def either(shape: str) -> Document:
    return {"application/json": {"schema": {"anyOf": [{"$ref": SCHEMAS + shape}, {"$ref": SCHEMAS + "Error"}]}}}


def listed(shape: str) -> Document:
    if "|" in shape:
        return {"anyOf": [listed(one) for one in shape.split("|")]}
    if not shape.startswith("["):
        return {"$ref": SCHEMAS + shape}
    items = {"type": "array", "items": {"$ref": SCHEMAS + shape.strip("[]")}}
    return {
        "type": "object",
        "properties": {"items": items, "next": {"type": ["string", "null"]}},
        "required": ["items", "next"],
    }


def in_path(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def in_query(parameter: Parameter) -> Document:
    schema: Document = {"type": parameter.kind}
    optional = {
        "default": parameter.default,
        "minimum": parameter.least,
        "maximum": parameter.most,
        "enum": list(parameter.choices) or None,
    }
    schema |= {name: value for name, value in optional.items() if value is not None}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": schema,
    }


def described(routes: Iterable[Route]) -> Serve:
    body = msgspec.json.encode(describe(routes))

    async def serve(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/json")

    return serve
