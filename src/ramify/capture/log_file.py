"""Observations as lines of a file, exactly as they are in the log: written by `ramify export`, read by `ramify import`.

The first line names the format. What a line says is taken as it is: ids, times and projects are those of the store it came from.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, structs

from ramify.capture.importer import Imported, numbered, opened, unreadable
from ramify.model.audit import is_audit
from ramify.model.observation import Correction, Observation, Record, Request, Response

FORMAT = "ramify"
VERSION = 1
HEADER = b'{"ramify":"observations","version":%d}\n' % VERSION
KINDS: dict[str, type[Observation]] = {"request": Request, "response": Response, "record": Record, "correction": Correction}
LATEST = 1 << 62  # what every engine can hold
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Header(Struct):
    ramify: str
    version: int


_header = msgspec.json.Decoder(Header).decode


def looks_like_log(line: bytes) -> bool:
    try:
        return _header(line).ramify == "observations"
    except (ValueError, RecursionError):
        return False


def write_line(seen: Observation) -> bytes:
    """Without what is usual. A body that is no text is written in base64, under another name."""
    found: dict[str, Any] = {"observation": type(seen).__struct_config__.tag}
    for field in structs.fields(seen):
        value = getattr(seen, field.name)
        if field.name == "body":
            found.update(_written(value))
        elif field.default is NODEFAULT or value != field.default:
            found[field.name] = value
    return msgspec.json.encode(found) + b"\n"


def _written(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(body).decode()}


def read_log(path: Path, project: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line; stops at a version that is not known. `project` is for lines that cannot be read."""
    number = 0
    try:
        with opened(path) as file:
            for number, line in numbered(file):
                if looks_like_log(line):
                    if (version := _header(line).version) != VERSION:
                        yield Imported((), number, f"version {version} of this format is not known here: install a newer Ramify")
                        return
                elif line.strip():
                    yield _read(line, number, path, project)
    except (OSError, EOFError, zlib.error) as error:
        yield Imported((), number + 1, f"{path} cannot be read beyond line {number}: {error}")


def _read(line: bytes, number: int, path: Path, project: str) -> Imported:
    try:
        return Imported((read_observation(line),), number)
    except (ValueError, RecursionError) as error:
        return unreadable(line, number, path, project, str(error), FORMAT)


def read_observation(line: bytes) -> Observation:
    fields = _decode(line)
    kind = fields.pop("observation", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"`observation` is {kind!r}, not one of {', '.join(KINDS)}")
    if "body_base64" in fields:
        fields["body"] = b64decode(str(fields.pop("body_base64")), validate=True)
    elif isinstance(fields.get("body"), str):
        fields["body"] = fields["body"].encode()
    found = [kind, *(_value(field, fields) for field in structs.fields(KINDS[kind]))]
    seen: Observation = msgspec.convert(found, Observation)
    if is_audit(seen):
        raise ValueError("the audit of another store is not taken over: it tells who did what there")
    if not -LATEST < seen.at < LATEST:
        raise ValueError("`at` is no moment")
    return seen


def _value(field: structs.FieldInfo, fields: dict[str, Any]) -> Any:
    if field.name in fields:
        return fields[field.name]
    if field.default is NODEFAULT:
        raise ValueError(f"`{field.name}` is missing")
    return field.default
