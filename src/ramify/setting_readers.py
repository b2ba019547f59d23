"""From the text of a setting to its value. Each raises ValueError with the words that follow the name."""

import re
import shlex
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from ramify.model.claims import Rule, read_rule

HOUR = 3600
AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]*")
NEXT_AGENT = re.compile(r",\s*(?=[^=,]+=)")
NEXT_ASKED = re.compile(r",(?=[^=,]+=https?://)")
CARD = ("/.well-known/agent-card.json", "/.well-known/agent.json")
UNITS_OF_TIME = {"s": 1, "m": 60, "h": HOUR, "d": 24 * HOUR}
UNITS_OF_SIZE = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}


def read_text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def read_truth(text: str) -> bool:
    if text.strip().lower() not in ("yes", "no"):
        raise ValueError("must be yes or no")
    return text.strip().lower() == "yes"


def read_port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise ValueError("must be a number from 1 to 65535")
    return int(text)


def read_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError("must be a whole number, 1 or more")
    return int(text)


def read_address(text: str) -> str:
    address = text.strip().rstrip("/")
    if not address.startswith(("http://", "https://")) or not is_address(address):
        raise ValueError("must be an address that begins with http:// or https://")
    if "@" in urlsplit(address).netloc:  # nobody would send them, and everybody would see them
        raise ValueError("must be an address without user and password")
    return address


def read_hook(text: str) -> str:
    """An address, or a command with its arguments."""
    target = text.strip()
    if target.startswith(("http://", "https://")):
        if not is_address(target) or "@" in target:
            raise ValueError("must be a plain http address, without a user")
        return target
    try:
        words = shlex.split(target)
    except ValueError:
        words = []
    if not words:
        raise ValueError("must be an address that begins with http:// or https://, or a command")
    return target


def read_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("must be one or more names with commas between them")
    return names


def read_rules(text: str) -> tuple[Rule, ...]:
    return tuple(read_rule(rule) for rule in read_names(text))


def read_agents(text: str) -> dict[str, str]:
    """Names and addresses. The address of an agent's card is as good as its own."""
    agents: dict[str, str] = {}
    for part in NEXT_AGENT.split(text.strip().strip(",")):
        name, _, address = (word.strip() for word in part.partition("="))
        if not AGENT.fullmatch(name) or not is_address(address):
            raise ValueError("must be NAME=URL, a name of letters, digits and . _ ~ - and an http address")
        if "@" in address or "?" in address or "#" in address:
            raise ValueError("must be NAME=URL with a plain address: no user, no query")
        if name in agents:
            raise ValueError(f"must name each agent once: {name!r} is there twice")
        for card in CARD:
            address = address.removesuffix(card)
        agents[name] = address.rstrip("/")
    return agents


def read_asked(text: str) -> dict[str, str]:
    """The same for names as events write them, which are no part of a path; and addresses to the letter."""
    agents: dict[str, str] = {}
    for part in NEXT_ASKED.split(text.strip().strip(",")):
        name, _, address = (word.strip() for word in part.partition("="))
        if not name or not is_address(address):
            raise ValueError("must be NAME=URL, the agent's name in events and an http address")
        if "@" in address or "?" in address or "#" in address:
            raise ValueError("must be NAME=URL with a plain address: no user, no query")
        if name in agents:
            raise ValueError(f"must name each agent once: {name!r} is there twice")
        agents[name] = address
    return agents


def is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def read_folders(text: str) -> tuple[str, ...]:
    folders = tuple(folder.strip() for folder in text.split(",") if folder.strip())
    if not folders:
        raise ValueError("must be one or more folders with commas between them")
    return folders


def read_duration(text: str) -> int:
    """Seconds. A bare number is refused: 30 of what?"""
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    if unit not in UNITS_OF_TIME or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise ValueError("must be a time such as 30s, 10m, 24h or 7d")
    return int(number) * UNITS_OF_TIME[unit]


def read_size(text: str) -> int:
    """Bytes."""
    squeezed = text.replace(" ", "").lower()
    number = squeezed.rstrip("bgikmt")
    unit = squeezed[len(number) :]
    if not number.isascii() or not number.isdigit() or unit not in UNITS_OF_SIZE or int(number) < 1:
        raise ValueError("must be a size such as 500MB or 1GiB")
    return int(number) * UNITS_OF_SIZE[unit]


def read_zone(text: str) -> str:
    zone = text.strip()
    if re.fullmatch(r"[+-](?:0\d|1[0-4]):[0-5]\d", zone):
        return zone
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):  # KeyError: a name that nobody knows
        raise ValueError("must be a time zone such as UTC, Europe/Amsterdam or +02:00") from None
    return zone
