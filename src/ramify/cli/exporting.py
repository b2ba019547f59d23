"""A run as something to pass on: a page, a text, the log of it, tables, spans."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ramify.cli.output import Output
from ramify.cli.parser import Parser, add_reading, one_of
from ramify.cli.progress import progress_bar
from ramify.cli.session import Part, Session
from ramify.cli.words import plural
from ramify.exporting.wish import FORMATS, Wish
from ramify.model.mistake import UserMistake

ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".jsonl": "jsonl", ".parquet": "parquet", ".zip": "parquet"}


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="a task, a conversation or an operation; any id of its own protocol")
    parser.add_argument("file", metavar="FILE", help="where to; - is standard output; for otlp also the address of an endpoint")
    parser.add_argument("--to", type=one_of(*FORMATS), metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: by the ending of FILE)")
    parser.add_argument("--preview", action="store_true", help="only say what would be in it, and what is not")
    parser.add_argument("--no-results", action="store_true", help="html, markdown: without what tools gave back")
    parser.add_argument("--bodies", action="store_true", help="html: with the requests and answers as they were on the wire")
    parser.add_argument("--content", action="store_true", help="otlp: with what was said, not only how long it took and what it cost")
    add_reading(parser)


def export(session: Session) -> int:
    asked = session.arguments
    wish = Wish(format_of(asked.to, asked.file), not asked.no_results, asked.bodies, asked.content)
    with session.opened() as store, progress_bar("exporting", asked.color) as progress:
        if asked.preview:
            return previewed(session.output, store.exports.preview(asked.id, wish, progress))
        session.note_reading(store, "export", asked.id, {"to": wish.to, "file": asked.file, "bodies": "true" if wish.bodies else "false"})
        if is_address(asked.file):
            return sent(session.output, store.exports.send(asked.id, wish, asked.file, progress))
        if wish.to == "parquet" and not asked.file.endswith(".zip") and asked.file != "-":
            written = write_folder(Path(asked.file), store.exports.tables(asked.id))
        else:
            written = write_file(asked.file, store.exports.offer(asked.id, wish, progress).pieces)
    if asked.file != "-":
        told = {"id": asked.id, "to": wish.to, "file": asked.file, "bytes": written}
        session.output.document(told) if session.output.json else session.output.lines([f"wrote {asked.file}: {written:,} bytes"])
    return 0


def format_of(given: str | None, file: str) -> str:
    if is_address(file) and given in (None, "otlp"):
        return "otlp"
    if is_address(file):
        raise UserMistake(f"{given} goes into a file, not to {file!r}", "only spans can be sent: --to otlp")
    if found := given or ENDINGS.get(Path(file).suffix.lower()):
        return found
    raise UserMistake(f"the ending of {file!r} does not say what is wanted", f"say it with --to: {', '.join(FORMATS)}")


def is_address(file: str) -> bool:
    return file.startswith(("http://", "https://"))


def write_file(file: str, pieces: Iterable[bytes]) -> int:
    """Beside it first: what was there stays whole until the new one is."""
    if file == "-":
        return sum(sys.stdout.buffer.write(piece) for piece in pieces)
    path = Path(file)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as target:
            written = sum(target.write(piece) for piece in pieces)
        part.replace(path)
    except OSError as problem:
        raise UserMistake(f"{file} cannot be written: {problem.strerror}", "check the path and the free space") from None
    finally:
        part.unlink(missing_ok=True)
    return written


def write_folder(folder: Path, tables: Iterable[tuple[str, bytes]]) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return sum((folder / f"{name}.parquet").write_bytes(content) for name, content in tables)
    except OSError as problem:
        raise UserMistake(f"{folder} cannot be written: {problem.strerror}", "name a folder, or a file that ends in .zip") from None


def sent(output: Output, answer: dict[str, Any]) -> int:
    if output.json:
        output.document(answer)
    else:
        output.lines([f"sent {plural(answer['spans'], 'span')} to {answer['to']}"])
    if answer["rejected"] or answer["message"]:
        output.say(f"the endpoint rejected {answer['rejected']}: {answer['message'] or 'without a word'}")
    return 0 if not answer["rejected"] else 1


def previewed(output: Output, answer: dict[str, Any]) -> int:
    if output.json:
        output.document(answer)
        return 0
    counts = ", ".join(plural(count, name.replace("_", " ").removesuffix("s")) for name, count in answer["holds"].items() if count)
    output.lines([f"{answer['entity']} {answer['id']} as {answer['to']}: {counts}"])
    if answer["redacted"]:
        output.lines(["redacted: " + ", ".join(f"{count:,} × {name}" for name, count in answer["redacted"].items())])
    output.lines([f"left out: {name}" for name in answer["left_out"]])
    return 0


FAMILY = {"export": Part(options, export)}
