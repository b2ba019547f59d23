"""OTLP from files: one JSON document, or one a line as a collector's file exporter writes them."""

import zlib
from collections.abc import Iterator
from pathlib import Path

from ramify.capture.importer import Imported, numbered, opened, unreadable
from ramify.protocols.otel.request import FORMAT, read_json

LEADS = (b'"resourceSpans"', b'"resourceLogs"', b'"resource_spans"', b'"resource_logs"')


def read_otlp(path: Path, project: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line. Ids follow from the content: reading twice changes nothing."""
    number = 0
    try:
        if is_one_document(path):
            with opened(path) as file:
                yield read_document(file.read(), 1, path, project)
            return
        with opened(path) as file:
            for number, line in numbered(file):
                if line.strip():
                    yield read_document(line, number, path, project)
    except (OSError, EOFError, zlib.error) as error:
        yield Imported((), number + 1, f"{path} cannot be read beyond line {number}: {error}")


def is_one_document(path: Path) -> bool:
    """Written over several lines: the first of them is no document by itself."""
    with opened(path) as file:
        first = next((line.strip() for _, line in numbered(file) if line.strip()), b"")
    return first.startswith(b"{") and not first.endswith(b"}")


def read_document(text: bytes, number: int, path: Path, project: str) -> Imported:
    place = f"{path.name}:{number}".encode("utf-8", "backslashreplace").decode()
    try:
        export = read_json(text, project, place)
    except (ValueError, RecursionError) as problem:
        return unreadable(text, number, path, project, str(problem), FORMAT)
    problem_told = f"{place}: {export.rejected} of {export.items}: {export.problem}" if export.rejected else None
    return Imported(tuple(export.records), number, problem_told)


def looks_like_otlp(text: bytes) -> bool:
    """By its beginning."""
    return text.lstrip().startswith(b"{") and any(lead in text[:4096] for lead in LEADS)
