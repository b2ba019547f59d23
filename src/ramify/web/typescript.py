"""TypeScript types of the answers, made from the server's own: `python -m ramify.web.typescript > web/src/api/types.gen.ts`."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from ramify.web.access_shapes import ACCESS_SHAPES
from ramify.web.event_shapes import EVENT_SHAPES
from ramify.web.insight_shapes import INSIGHT_SHAPES
from ramify.web.page_shapes import PAGE_SHAPES
from ramify.web.shapes import SHAPES

HEAD = "// Made by `python -m ramify.web.typescript` from the server's own types. Do not edit.\n"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}


def written() -> str:
    return HEAD + "".join(interface(shape) for shape in every((*SHAPES, *PAGE_SHAPES, *INSIGHT_SHAPES, *EVENT_SHAPES, *ACCESS_SHAPES)))


def every(shapes: tuple[type[Struct], ...]) -> list[type[Struct]]:
    """The shapes and those they are made of, each once, in the order of their names."""
    found: dict[str, type[Struct]] = {}
    waiting: list[Any] = list(shapes)
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, Struct):
            if one.__name__ not in found:
                found[one.__name__] = one
                waiting += [field.type for field in msgspec.structs.fields(one)]
        else:
            waiting += get_args(one)
    return [found[name] for name in sorted(found)]


def interface(shape: type[Struct]) -> str:
    fields = "".join(
        f"  {field.encode_name}{'?' if not field.required else ''}: {spelled(field.type)};\n" for field in msgspec.structs.fields(shape)
    )
    return f"\nexport interface {shape.__name__} {{\n{fields}}}\n"


def spelled(kind: Any) -> str:
    if kind in PLAIN:
        return PLAIN[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:  # bounds are the server's to check
        return spelled(inner[0])
    if origin is Literal:
        return " | ".join(f'"{word}"' for word in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(spelled(one) for one in inner)
    if origin in (list, tuple):
        return f"Array<{spelled(inner[0])}>"
    if origin is dict:
        return f"Record<{spelled(inner[0])}, {spelled(inner[1])}>"
    return str(kind.__name__)


if __name__ == "__main__":
    print(written(), end="")
