"""People who are logged in: a random id in their browser, of which the store keeps a hash. All servers of a store know them,
and a login lasts no longer than what it was opened with."""

import secrets
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256

import msgspec
from msgspec import Struct

from ramify.model.identity import Identity, Scope
from ramify.storage.base import Store

FACT = "login:"
MOST = 1000
HOUR = 3600 * 1_000_000
IDLE = 12 * HOUR  # without a question
LONGEST = 7 * 24 * HOUR
SLIDE = HOUR // 6  # so often it is written down that somebody is still there
_encode = msgspec.msgpack.Encoder().encode


class Login(Struct, frozen=True, kw_only=True):
    """By a token: `credential` is its hash, and opens what that opens now. By somebody else's word: name, scopes and projects."""

    credential: bytes = b""
    name: str = ""
    scopes: tuple[Scope, ...] = ()
    projects: tuple[str, ...] | None = None
    opened: int
    seen: int
    until: int

    def lives(self, at: int) -> bool:
        return at < min(self.until, self.seen + IDLE)

    @property
    def identity(self) -> Identity:
        return Identity(self.name, frozenset(self.scopes), None if self.projects is None else frozenset(self.projects))


_decode = msgspec.msgpack.Decoder(Login).decode


def new_id() -> str:
    return secrets.token_urlsafe(32)


def place_of(id: str) -> str:
    return FACT + sha256(id.encode("utf-8", "surrogateescape")).hexdigest()


def read_logins(store: Store) -> dict[str, Login]:
    found: dict[str, Login] = {}
    for name, value in store.facts(FACT).items():
        with suppress(msgspec.MsgspecError):  # a newer version's: whoever has it logs in again
            found |= {name: _decode(value)} if isinstance(value, bytes) else {}
    return found


def keep_login(store: Store, place: str, login: Login) -> None:
    store.set_fact(place, _encode(login))


def surplus(known: dict[str, Login], at: int) -> list[str]:
    """Those that are over, and of too many those that were silent longest: whoever logs in must not fill the store."""
    over = [place for place, login in known.items() if not login.lives(at)]
    alive = sorted((login.seen, place) for place, login in known.items() if login.lives(at))
    return over + [place for _, place in alive[: max(0, len(alive) - MOST + 1)]]


def drop_logins(store: Store, places: Iterable[str]) -> None:
    if found := list(places):
        store.drop_facts(found)
