"""A route of the API: where, what answers, what may be asked for, and the shape of the answer."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from ramify.model.identity import LOCAL
from ramify.model.mistake import UserMistake
from ramify.query.service import Answer
from ramify.web.served import Needed, Seen, Serve

MOST = 100_000


class Parameter(NamedTuple):
    name: str
    kind: Literal["integer", "boolean", "string"]
    meaning: str
    default: int | bool | None = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    required: bool = False


class Asked(NamedTuple):
    """One question as it came: the values in its path, its parameters, the body of an act, and the name of who asks."""

    ramify: Seen
    path: Mapping[str, str]
    given: dict[str, Any]
    body: bytes = b""
    who: str = LOCAL.name


class Download(NamedTuple):
    """Bytes as they were on the wire, to be saved and never to be run."""

    body: bytes
    headers: list[tuple[str, str]]
    name: str


Respond = Callable[[Asked], Answer | Download]


class Route(NamedTuple):
    method: str
    path: str
    scope: Needed  # what the asker must be allowed; "open" and "any": see `Needed`
    answer: Respond | Serve  # a plain function is run in a thread; a coroutine function answers by itself
    summary: str
    shape: str  # a name of `shapes.py`; "" where the answer is no JSON
    parameters: tuple[Parameter, ...] = ()
    takes: str = ""  # the shape of its body, likewise
    act: str = ""  # what the audit calls it; "": whoever asks this leaves no trace
    tried: bool = False  # it stands there also where it failed: an error can tell what an answer would have told


LIMIT = Parameter("limit", "integer", "how many items at most", 50, least=1, most=MOST)
CURSOR = Parameter("cursor", "string", "`next` of the page before")
PROJECT = Parameter("project", "string", "only this project")
TREE = Parameter("tree", "boolean", "with everything under it", False)
CONVERSATION = Parameter("conversation", "string", "only this conversation")
STATUS = Parameter("status", "string", "only this status")
SHAPE = Parameter(
    "shape", "string", "`skeleton`: columns in pre-order, for drawing", choices=("full", "skeleton")
)
FILTER = Parameter("filter", "string", "only what fits, such as `status:failed tool:Bash cost>0.5 since:2h`; see the page on queries")
PAGE = (LIMIT, CURSOR)


def read_parameters(query: Iterable[tuple[str, str]], known: tuple[Parameter, ...]) -> dict[str, Any]:
    """Every known parameter with its value or default. Raises UserMistake that names the wrong one."""
    by_name = {parameter.name: parameter for parameter in known}
    values: dict[str, Any] = {parameter.name: parameter.default for parameter in known}
    for name, text in query:
        if name not in by_name:
            allowed = f"Known here: {', '.join(by_name)}" if by_name else "None is known here"
            raise UserMistake(f'There is no parameter "{name}"', allowed)
        values[name] = read_value(by_name[name], text)
    for parameter in known:
        if parameter.required and not values[parameter.name]:
            raise UserMistake(f'The parameter "{parameter.name}" is missing', f"Give {parameter.meaning}")
    return values


def read_value(parameter: Parameter, text: str) -> int | bool | str:
    wrong = f'The parameter "{parameter.name}" is "{text[:60]}"'
    if parameter.kind == "integer":
        return read_integer(parameter, text, wrong)
    if parameter.kind == "boolean":
        if text.lower() not in BOOLEANS:
            raise UserMistake(wrong, "Write true or false")
        return BOOLEANS[text.lower()]
    if "\0" in text:
        raise UserMistake(wrong, "Leave the NUL out: no store can be asked for it")
    if parameter.choices and text not in parameter.choices:
        raise UserMistake(wrong, f"Write one of: {', '.join(parameter.choices)}")
    return text


def read_integer(parameter: Parameter, text: str, wrong: str) -> int:
    least = parameter.least if parameter.least is not None else 0
    hint = f"Write a whole number of at least {least}" + (
        f", at most {parameter.most}" if parameter.most else ""
    )
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise UserMistake(wrong, hint)
    if int(text) < least or (parameter.most is not None and int(text) > parameter.most):
        raise UserMistake(wrong, hint)
    return int(text)


BOOLEANS = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}
