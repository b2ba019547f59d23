"""Which files to read, and what each of them holds: by their first lines, or by where they lie."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from ramify.capture import importer, transcript
from ramify.capture.events_file import looks_like_event
from ramify.capture.importer import PEEKED_BYTES, looks_like_exchange, opened
from ramify.capture.log_file import FORMAT as LOG
from ramify.capture.log_file import looks_like_log
from ramify.capture.mesh_file import looks_like_mesh
from ramify.capture.otlp_file import looks_like_otlp
from ramify.model.mistake import UserMistake

FORMATS = {
    "exchanges": "exchanges", "claude": "claude", "claude-hooks": "claude-hook", "stream-json": "stream-json", "sdk": "sdk",
    "a2a": "a2a", "adcp": "adcp", "sam": "sam", "ramify": "ramify", "otlp": "otlp",
}  # fmt: skip
"""What a person calls it, and what is written into the records."""
PEEKED_LINES = 20


class Source(Struct, frozen=True):
    """A file to be read."""

    path: Path
    format: str
    size: int


class Look(Struct):
    """The fields that give a line away."""

    type: object = None
    made_of: object = field(name="class", default=None)
    agent: object = None
    connection: object = None
    seq: object = None
    kind: object = None
    session_id: object = None
    sessionId: object = None
    uuid: object = None
    leafUuid: object = None
    hook_event_name: object = None
    input: object = None


_look = msgspec.json.Decoder(Look).decode


def sources(given: Sequence[Path], format: str) -> tuple[list[Source], list[str]]:
    """The files to read, and those of a folder that are in no known format. One that was named must be."""
    if format not in ("auto", *FORMATS):
        raise UserMistake(f"no format {format!r}", f"known are auto, {', '.join(FORMATS)}")
    found: dict[Path, str] = {}
    unknown: list[str] = []
    for path in given:
        for file, known in listed(path, format):
            if known is not None:
                found.setdefault(file, known)
            elif file == path:
                raise UserMistake(f"{path} is in no format that Ramify knows", f"say which with --format: {', '.join(FORMATS)}")
            else:
                unknown.append(str(file))
    return [Source(path, known, path.stat().st_size) for path, known in found.items()], unknown


def listed(path: Path, format: str) -> Iterator[tuple[Path, str | None]]:
    if path.is_dir() and (format == "claude" or (format == "auto" and is_transcripts(path))):
        files = [Path(name) for name, _ in transcript.find(path)]
        if not files:
            raise UserMistake(f'The folder "{path}" holds no transcripts', "name a projects folder, a project, a session or a file")
        yield from ((file, transcript.FORMAT) for file in files)
        return
    for file in importer.paths([path]):
        yield file, detect(file) if format == "auto" else FORMATS[format]


def is_transcripts(folder: Path) -> bool:
    known = transcript.is_config, transcript.is_project, transcript.is_session
    return folder.name == "projects" or any(fits(folder) for fits in known)


def detect(path: Path) -> str | None:
    """None when it looks like nothing that is known here."""
    if is_transcript(path):
        return transcript.FORMAT
    try:
        with opened(path) as file:
            lines = [file.readline(PEEKED_BYTES) for _ in range(PEEKED_LINES)]
    except (OSError, EOFError, zlib.error):
        return None
    if looks_like_otlp(b"".join(lines)):
        return "otlp"
    known = next((format for line in lines if (format := format_of(line)) is not None), None)
    return known or ("sam" if looks_like_mesh(b"".join(lines)) else None)


def is_transcript(path: Path) -> bool:
    if transcript.NAME.fullmatch(path.name) is not None:
        return True
    inside = any(part in path.parts[-5:-1] for part in (transcript.AGENTS, transcript.WORKFLOWS))
    return inside and transcript.is_transcript(path.name, str(path.parent))


def format_of(line: bytes) -> str | None:
    if looks_like_log(line):
        return LOG
    if looks_like_exchange(line):
        return importer.FORMAT
    if looks_like_event(line):
        return "adcp"
    try:
        look = _look(line)
    except (ValueError, RecursionError):
        return cut_format(line) if len(line) == PEEKED_BYTES else None
    if isinstance(look.made_of, str):
        return "sdk"
    if isinstance(look.seq, int) and all(isinstance(name, str) for name in (look.agent, look.connection, look.kind)):
        return "a2a"
    if isinstance(look.hook_event_name, str) or (isinstance(look.input, dict) and "hook_event_name" in look.input):
        return "claude-hook"
    if not isinstance(look.type, str):
        return None
    if isinstance(look.session_id, str):
        return "stream-json"
    return transcript.FORMAT if any(isinstance(id, str) for id in (look.sessionId, look.uuid, look.leafUuid)) else None


def cut_format(line: bytes) -> str | None:
    """Only the beginning of a long line."""
    if all(name in line for name in (b'"agent"', b'"connection"', b'"seq"', b'"kind"')):
        return "a2a"
    if b'"session_id"' in line and b'"type"' in line:
        return "stream-json"
    return transcript.FORMAT if b'"sessionId"' in line and b'"type"' in line else None
