"""HTTP exchanges from files: one JSON object a line, one line at a time. A bad line is kept and reported."""

import gzip
import re
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

import msgspec
from msgspec import Raw, Struct

from ramify.capture.redact import redact_address, redact_body, redact_headers, redact_json
from ramify.model.ids import digest, observation_id
from ramify.model.mistake import UserMistake
from ramify.model.moment import micros
from ramify.model.observation import Headers, Observation, Outcome, Record, Request, Response

FORMAT = "exchanges"
LONGEST_LINE = 256 * 1024 * 1024  # what one line may cost in memory
PEEKED_BYTES = 1024 * 1024
# White space between the parts of a JSON text; strings are matched so that theirs stays.
BETWEEN = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z|\\\Z))|\s+', re.DOTALL)
NOTHING = Raw(b"null")


class Imported(Struct, frozen=True):
    """What one line became. `problem` says why it could not be read; the line is then in a `Record`."""

    observations: tuple[Observation, ...]
    line: int
    problem: str | None = None


class SentLine(Struct):
    method: str
    path: str
    headers: dict[str, str | list[str]] = {}
    body: Raw = NOTHING
    body_base64: str | None = None


class AnswerLine(Struct):
    status: int = 0
    headers: dict[str, str | list[str]] = {}
    body: Raw = NOTHING
    body_base64: str | None = None
    sse: str | None = None
    aborted: bool = False


class ExchangeLine(Struct):
    id: str
    started: str
    request: SentLine
    ended: str | None = None
    response: AnswerLine | None = None


EXCHANGE = msgspec.json.Decoder(ExchangeLine)
TEXT = msgspec.json.Decoder(str)


def read_exchanges(path: Path, project: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line. Ids follow from the content: reading twice changes nothing."""
    number = 0
    try:
        with opened(path) as file:
            for number, line in numbered(file):
                if line.strip():
                    yield read_line(line, number, path, project)
    except (OSError, EOFError, zlib.error) as error:
        problem = f"{path} cannot be read beyond line {number}: {error}"
        yield Imported((), number + 1, problem)


def regular(path: Path) -> Path:
    """A pipe would be waited for, and a device has no end."""
    if path.exists() and not path.is_file():
        raise UserMistake(f"{path} is no file", "name a file or a folder; of a program's output, store it in a file first")
    return path


def opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(3) == b"\x1f\x8b\x08"
    # A GzipFile reads like any file; the type checker only knows the abstract one.
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


def numbered(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers. Of one that is too long, the beginning; the rest is passed over."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        yield number, line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)


def read_line(line: bytes, number: int, path: Path, project: str) -> Imported:
    try:
        seen = EXCHANGE.decode(line)
        return Imported(tuple(observations(seen, project)), number)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors, too
        return unreadable(line, number, path, project, str(error))


def unreadable(
    line: bytes, number: int, path: Path, project: str, reason: str, format: str = FORMAT
) -> Imported:
    place = f"{path.name}:{number}"
    body = redact_json(line.rstrip(b"\r\n"))
    record = Record(
        id=observation_id("record", project, format, place, body),
        project=project,
        at=0,  # when it happened cannot be known
        source=format,
        format=format,
        place=place,
        body=body,
    )
    return Imported((record,), number, f"{place}: {reason}")


def observations(seen: ExchangeLine, project: str) -> Iterator[Observation]:
    started = moment(seen.started, "started")
    path = redact_address(seen.request.path)
    headers, body = stored(
        seen.request.headers, sent_body(seen.request), seen.request.body_base64 is not None
    )
    request = Request(
        id=observation_id("exchange", project, seen.id, started, seen.request.method, path, digest(body)),
        project=project,
        at=started,
        source=FORMAT,
        exchange=seen.id,
        method=seen.request.method,
        path=path,
        headers=headers,
        body=body,
    )
    yield request
    yield answer(seen, request)


def answer(seen: ExchangeLine, request: Request) -> Response:
    at = request.at if seen.ended is None else moment(seen.ended, "ended")
    given = seen.response or AnswerLine()
    outcome: Outcome = "lost" if seen.response is None else "aborted" if given.aborted else "complete"
    headers, body = stored(given.headers, answer_body(given), given.body_base64 is not None)
    return Response(
        id=observation_id("exchange-response", request.id, at, given.status, outcome, digest(body)),
        project=request.project,
        at=at,
        source=FORMAT,
        request=request.id,
        path=request.path,
        status=given.status,
        headers=headers,
        body=body,
        outcome=outcome,
    )


def moment(text: str, name: str) -> int:
    try:
        return micros(text)
    except (ValueError, OverflowError):
        raise ValueError(f'`{name}` is "{text[:40]}", which is no ISO 8601 time') from None


def stored(headers: dict[str, str | list[str]], body: bytes, verbatim: bool) -> tuple[Headers, bytes]:
    """Without secrets. A body that the file holds decoded must not claim to be compressed."""
    pairs = tuple(
        (name, each)
        for name, value in headers.items()
        for each in (value if isinstance(value, list) else [value])
    )
    lower = {name.lower(): value for name, value in pairs}
    encoding = lower.get("content-encoding", "") if verbatim else ""
    clean, decoded = redact_body(body, lower.get("content-type", ""), encoding)
    if decoded or not encoding:
        pairs = tuple((name, value) for name, value in pairs if name.lower() != "content-encoding")
    return redact_headers(pairs), clean


def sent_body(sent: SentLine) -> bytes:
    return from_base64(sent.body_base64) if sent.body_base64 is not None else body_bytes(bytes(sent.body))


def answer_body(given: AnswerLine) -> bytes:
    if given.sse is not None:
        return given.sse.encode()
    return from_base64(given.body_base64) if given.body_base64 is not None else body_bytes(bytes(given.body))


def body_bytes(raw: bytes) -> bytes:
    """A string is the body's text. Anything else is JSON, whose spaces are the file's and not the wire's."""
    if raw == b"null":
        return b""
    if raw.startswith(b'"'):
        return TEXT.decode(raw).encode()
    return BETWEEN.sub(rb"\1", raw)


def from_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"`body_base64` is no base64: {error}") from None


def looks_like_exchange(line: bytes) -> bool:
    """By its first `PEEKED_BYTES`."""
    if len(line) == PEEKED_BYTES:  # only the beginning of a long line
        return line.lstrip().startswith(b"{") and b'"request"' in line and b'"started"' in line
    try:
        EXCHANGE.decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def paths(arguments: Iterable[str | Path]) -> Iterator[Path]:
    """The files that the arguments name, folders opened up, in a fixed order. Hidden files are left out."""
    named = [Path(argument) for argument in arguments]
    for path in named:
        if not path.exists():
            raise UserMistake(
                f'There is no file or folder "{path}"', "Check the path; it is relative to here"
            )
    return (file for path in named for file in (walk(path) if path.is_dir() else (regular(path),)))


def walk(folder: Path) -> Iterator[Path]:
    """What a link leads to elsewhere is no part of the folder: somebody else may have made it."""
    inside = folder.resolve()
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and not hidden(path, folder) and path.resolve().is_relative_to(inside)
    )
    if not files:
        raise UserMistake(f'The folder "{folder}" holds no files', "Name a folder with recordings, or a file")
    yield from files


def hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)
