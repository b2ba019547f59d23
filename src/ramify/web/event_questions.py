"""What may be asked of the event log, and how it is written in an address. Whatever is wrong is said, with a hint."""

from collections.abc import Mapping
from datetime import datetime

from ramify.model.mistake import UserMistake
from ramify.model.moment import micros
from ramify.query.events import FILTERS, FOREVER, Wanted
from ramify.web.route import Parameter, read_integer

LIMIT = Parameter("limit", "integer", "how many events at most", 100, least=1, most=1000)
OPERATIONS = Parameter("limit", "integer", "how many operations at most", 50, least=1, most=1000)
AFTER = Parameter("after_seq", "integer", "only events behind this number, oldest first")
BEFORE = Parameter("before_seq", "integer", "only events before this number")
SINCE = Parameter("since", "string", "only what the store took at this time or later: ISO 8601 with a zone")
UNTIL = Parameter("until", "string", "only what the store took at this time or earlier")
ORDER = Parameter("order", "string", "oldest or newest first", choices=("asc", "desc"))
EQUAL = tuple(Parameter(name, "string", f"only events with this {name.replace('_', ' ')}") for name in FILTERS)
EVENTS = (*EQUAL, SINCE, UNTIL, AFTER, BEFORE, LIMIT, ORDER)
STREAMED = (EQUAL[0], EQUAL[1], AFTER)


def read_events(query: Mapping[str, str]) -> Wanted:
    known = {parameter.name: parameter for parameter in EVENTS}
    check_names(query, known)
    order = query.get("order")
    if order is not None and order not in ORDER.choices:
        raise UserMistake(f'The parameter "order" is "{order[:60]}"', "Write asc or desc")
    return Wanted(
        {name: query[name] for name in FILTERS if name in query},
        moment(query, "since", 0),
        moment(query, "until", FOREVER),
        number(query, AFTER),
        number(query, BEFORE),
        number(query, LIMIT) or 100,
        None if order is None else order == "asc",
    )


def check_names(query: Mapping[str, str], known: Mapping[str, Parameter]) -> None:
    for name in query:
        if name not in known:
            raise UserMistake(f'There is no parameter "{name[:60]}"', f"Known here: {', '.join(known)}")


def number(query: Mapping[str, str], parameter: Parameter) -> int | None:
    text = query.get(parameter.name)
    return None if text is None else read_integer(parameter, text, f'The parameter "{parameter.name}" is "{text[:60]}"')


def moment(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    # A plus sign in an address is a space unless it was written as %2B.
    text = text.replace(" ", "+") if "T" in text and " " in text else text
    try:
        if datetime.fromisoformat(text).tzinfo is None:
            raise ValueError("no zone")
        return micros(text)
    except (ValueError, OverflowError):
        hint = "Write a time with its zone, such as 2026-01-31T12:00:00Z"
        raise UserMistake(f'The parameter "{name}" is "{text[:60]}"', hint) from None
