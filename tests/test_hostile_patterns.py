"""Every pattern of the source takes linear time, whatever text it is given: a new one joins by itself."""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import ramify

SIZE = 4_000
QUICK = 0.006  # seconds of processor time for so many characters; a linear search takes a hundredth of it
RATIO = 9.0  # four times the text: linear is four times the time, quadratic sixteen times
OPTIONAL = ("ramify.capture.broker", "ramify.exporting.tables", "ramify.writing", "ramify.__main__")
PARTS = (
    " ", "\n", "a", "0", "-", ".", "/", ":", "=", "?", ";", '"', "\\", '\\"', "'", "$a$", "/*", "a ", "a.", "0-", "://a:", "eyJ",
)  # fmt: skip


def patterns() -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    """All that stand in a module, or in a tuple of one."""
    met: set[int] = set()
    for found in pkgutil.walk_packages(ramify.__path__, "ramify."):
        if not found.name.startswith(OPTIONAL):
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                for at, one in enumerate(flat(value, 4)):
                    if id(one) not in met:
                        met.add(id(one))
                        yield f"{found.name}.{name}.{at}", one


def flat(value: Any, depth: int) -> Iterator["re.Pattern[Any]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list) and depth:
        for one in value:
            yield from flat(one, depth - 1)


PATTERNS = dict(patterns())
SOURCES = {path: path.read_text() for path in Path(ramify.__file__).parent.rglob("*.py")}


def is_anchored(name: str) -> bool:
    """Whether it is only ever tried where a text, or the rest of one, begins."""
    module, named, _ = name.rsplit(".", 2)
    used = {
        how
        for path, text in SOURCES.items()
        if path.with_suffix("").as_posix().endswith(module.replace(".", "/")) or re.search(rf"from {re.escape(module)} import .*\b{named}\b", text)
        for how in re.findall(rf"\b{named}\.(\w+)\(", text)
    }
    return bool(used) and used <= {"match", "fullmatch"}


def example(parsed: Any) -> str:
    """Something that it fits, by its first choices: where a search begins in earnest."""
    made = ""
    for kind, value in parsed:
        match kind:
            case _constants.LITERAL:
                made += chr(value)
            case _constants.IN:
                made += next((letter for letter in "a0 -_:/.\"'\n\\=" if any(fits(one, letter) for one in value) != (value[0][0] is _constants.NEGATE)), "a")
            case _constants.MAX_REPEAT | _constants.MIN_REPEAT | _constants.POSSESSIVE_REPEAT:
                made += example(value[2]) * max(1, min(value[0], 40))
            case _constants.SUBPATTERN:
                made += example(value[3])
            case _constants.ATOMIC_GROUP:
                made += example(value)
            case _constants.BRANCH:
                made += example(value[1][0])
            case _constants.ANY | _constants.NOT_LITERAL:
                made += "a"
            case _:
                pass
    return made


def fits(one: Any, letter: str) -> bool:
    kind, value = one
    match kind:
        case _constants.LITERAL:
            return chr(value) == letter
        case _constants.RANGE:
            return bool(value[0] <= ord(letter) <= value[1])
        case _constants.CATEGORY:
            shape = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(value).rpartition("_")[2]]
            return bool(re.match(shape, letter)) != ("_NOT_" in str(value))
    return False


def hostile(pattern: "re.Pattern[Any]", size: int) -> Iterator[str]:
    """A beginning of what it fits, again and again, and what may be repeated between."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    whole = example(_parser.parse(text, pattern.flags))[:400]
    cuts = sorted({0, len(whole) // 2, max(0, len(whole) - 1)})
    for cut in cuts:
        if whole[:cut]:
            yield repeated(whole[:cut], size)
        for part in PARTS:
            yield whole[:cut] + repeated(part, size) + "\x00"
    for part in (" ", "a", "0"):
        yield repeated(whole[:-1] + part, size)


def repeated(part: str, size: int) -> str:
    return (part * (size // len(part) + 1))[:size]


def seconds(pattern: "re.Pattern[Any]", text: str, anchored: bool) -> float:
    given: Any = text if isinstance(pattern.pattern, str) else text.encode()
    began = time.process_time()
    if anchored:
        pattern.match(given)
        pattern.fullmatch(given)
    else:
        for _ in pattern.finditer(given):
            pass
    return time.process_time() - began


def slow(pattern: "re.Pattern[Any]", anchored: bool = False) -> list[str]:
    found: list[str] = []
    for number, text in enumerate(hostile(pattern, SIZE)):
        took = seconds(pattern, text, anchored)
        if took > QUICK:
            less = next(one for at, one in enumerate(hostile(pattern, SIZE // 4)) if at == number)
            if took > RATIO * min(seconds(pattern, less, anchored) for _ in range(2)):
                found.append(f"{text[:60]!r}… {took:.2f} s")
    return found


def test_they_are_found() -> None:
    assert len(PATTERNS) > 150
    assert any("secret_words" in name for name in PATTERNS)
    assert slow(re.compile(r"\s+x")) != []
    assert slow(re.compile(r"<a>.*?</a>")) != []
    assert slow(re.compile(r"a+")) == []


SHORT = {
    "ramify.setting_readers.NEXT_AGENT": "what whoever starts the program says",
    "ramify.capture.transcript.NAME": "the name of a file",
    "ramify.protocols.adcp.signed_headers.COVERED": "one header, tried where a member of it begins",
    "ramify.protocols.adcp.signed_headers.BINARY": "one header, tried where a member of it begins",
}
"""Texts that cannot be long."""


def test_every_pattern_takes_linear_time() -> None:
    found = {name: texts for name, pattern in PATTERNS.items() if name.rpartition(".")[0] not in SHORT and (texts := slow(pattern, is_anchored(name)))}
    assert found == {}
