"""A store's address as it may be shown: where it is, and nothing of who opens it."""

import re
from urllib.parse import SplitResult, urlsplit

from ramify.model.mistake import UserMistake

HIDDEN = "…"
TELLING = ("schema", "cluster", "secure", "host", "hostaddr", "port", "dbname")
"""Options that say which store it is. All others are left out: also those that nobody knows yet may be secrets."""
SCHEME = re.compile(r"[A-Za-z][\w+.-]*")
HOSTS = re.compile(r"(?:[\w.%-]*|\[[\w:.%]+\])(?::\d*)?(?:,(?:[\w.%-]*|\[[\w:.%]+\])(?::\d*)?)*")
PATH = re.compile(r"[\w.%~+/-]*")
OPTION = re.compile(rf"(?:{'|'.join(TELLING)})=[\w.,:%~+/-]*")
PLAIN = re.compile(r"(?:[a-z]+:)?[\w.~ \\/-]*")
ESCAPE = "in a user or a password write %40 for @, %2F for /, %3A for : and so on; or leave the password to the environment (PGPASSWORD, CLICKHOUSE_PASSWORD)"


def shown(address: str) -> str:
    """Without user and password, wherever they stand. What cannot be told from a password for sure is not shown either."""
    if address == "memory:" or address.startswith("sqlite:"):
        return address
    scheme, mark, rest = address.partition("://")
    if not mark:
        return safe(PLAIN, address)
    if not SCHEME.fullmatch(scheme):
        return HIDDEN
    before, _, place = rest.rpartition("@")
    if "?" in before:  # whether it is the password's or begins the options nobody can say
        return f"{scheme}://{HIDDEN}"
    place, _, options = place.partition("?")
    hosts, slash, path = place.partition("/")
    kept = "&".join(option for option in options.split("&") if OPTION.fullmatch(option))
    return f"{scheme}://{safe(HOSTS, hosts)}{slash}{safe(PATH, path)}" + (f"?{kept}" if kept else "")


def quoted(word: str) -> str:
    """A word at a place where none belongs: it may be an address."""
    return shown(word) if re.search(r"://|[@=]", word) else word


def safe(form: re.Pattern[str], text: str) -> str:
    return text if form.fullmatch(text) else HIDDEN


def split(address: str) -> SplitResult:
    """Refused here and not by a driver, which would quote what it failed at: that may be the password."""
    try:
        parts = urlsplit(address.replace("#", "%23"))
    except ValueError:
        raise unreadable(address) from None
    if not is_clear(parts):
        raise unreadable(address)
    return parts


def unreadable(address: str) -> UserMistake:
    return UserMistake(f"the address of the store, {shown(address)}, cannot be read", ESCAPE)


def is_clear(parts: SplitResult) -> bool:
    """Of ClickHouse only the host and its port are the driver's to read, and what it makes of the rest is never told."""
    user, _, hosts = parts.netloc.rpartition("@")
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    lenient = parts.scheme == "clickhouse"
    return (
        "@" not in parts.path + (parts.query if lenient else user)
        and all(port.isdigit() for port in ports if port)
        and all("=" in option for option in parts.query.split("&") if option)
        and (lenient or not re.search(r"%(?![0-9A-Fa-f]{2})|%00", parts.geturl()))
    )
