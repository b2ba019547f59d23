"""The tokens of one store: made, listed, revoked and given new secrets. They are facts: no rebuild touches them."""

import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ramify.model.identity import SCOPES, Identity, Scope
from ramify.model.mistake import UserMistake
from ramify.model.moment import iso
from ramify.model.token import FACT, LENGTH, LETTERS, PREFIX, Token, decode_token, digest_of, encode_token
from ramify.query.errors import NotFound
from ramify.storage.base import Store

MOST = 1000
LONGEST = 100 * 365 * 24 * 3600  # seconds
NAME = re.compile(r"[\w.@ -]{1,80}")
SECOND = 1_000_000
Answer = dict[str, Any]


class Wanted(Struct, frozen=True):
    """A token to be made. No projects: all of them; `seconds` 0: it never expires."""

    name: str
    scopes: Sequence[str]
    projects: Sequence[str] | None = None
    seconds: int = 0


def new_secret() -> str:
    return PREFIX + "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def read_tokens(store: Store) -> list[Token]:
    """Newest first."""
    found = (known for value in store.facts(FACT).values() if isinstance(value, bytes) and (known := understood(value)) is not None)
    return sorted(found, key=lambda token: (-token.created, token.id))


def understood(value: bytes) -> Token | None:
    """One that a newer version wrote, with scopes that are not known here, opens nothing here; the others must go on to work."""
    try:
        return decode_token(value)
    except msgspec.MsgspecError:
        return None


class Tokens:
    """What somebody may do to them: with `by`, nothing beyond what they may do and see themselves."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    def create(self, wanted: Wanted, by: Identity) -> tuple[Token, str]:
        """The token, and its secret, which nobody will ever be told again."""
        known, at = read_tokens(self._store), self._clock()
        name, scopes = checked_name(wanted.name, known, at), checked_scopes(wanted.scopes)
        projects = None if wanted.projects is None else checked_projects(wanted.projects)
        check_within(projects, by)
        check_time(wanted.seconds)
        if sum(token.lives(at) for token in known) >= MOST:
            raise UserMistake(f"there are {MOST} tokens already", "revoke those that nobody uses: ramify token list")
        secret = new_secret()
        expires = at + wanted.seconds * SECOND if wanted.seconds else 0
        token = Token(
            id=f"tok_{secrets.token_hex(12)}", name=name, digest=digest_of(secret), scopes=scopes, projects=projects,
            created=at, changed=at, expires=expires,
        )  # fmt: skip
        self._keep(token)
        return token, secret

    def listed(self, by: Identity) -> list[Token]:
        return [token for token in read_tokens(self._store) if is_within(token.projects, by)]

    def revoke(self, name: str, by: Identity) -> Token:
        token = self._named(name, by)
        at = self._clock()
        revoked = replace(token, revoked=token.revoked or at, earlier=b"", earlier_until=0, changed=at)
        self._keep(revoked)
        return revoked

    def rotate(self, name: str, grace: int, by: Identity) -> tuple[Token, str]:
        """A new secret; the one before works on for so many seconds."""
        token, at = self._named(name, by), self._clock()
        check_time(grace)
        if not token.lives(at):
            raise UserMistake(f"the token {token.name!r} is revoked or has expired", "make a new one: ramify token create")
        secret = new_secret()
        rotated = replace(
            token, digest=digest_of(secret), earlier=token.digest if grace else b"", earlier_until=at + grace * SECOND, changed=at
        )
        self._keep(rotated)
        return rotated, secret

    def _named(self, name: str, by: Identity) -> Token:
        """By its id, or by the name that only one that is not revoked has."""
        found = [token for token in self.listed(by) if name in (token.id, token.name)]
        alive = [token for token in found if not token.revoked] or found
        if not alive:
            raise NotFound(f"there is no token {name!r}", "ramify token list shows them")
        if len(alive) > 1:
            raise UserMistake(f"several tokens were called {name!r}", f"name one by its id: {', '.join(token.id for token in alive)}")
        return alive[0]

    def _keep(self, token: Token) -> None:
        self._store.set_fact(FACT + token.id, encode_token(token))


def checked_name(name: str, known: Sequence[Token], at: int) -> str:
    if not NAME.fullmatch(name.strip()):
        raise UserMistake(f"a token cannot be called {name[:80]!r}", "use up to 80 letters, digits, spaces and . _ @ -")
    if any(token.name == name.strip() and token.lives(at) for token in known):
        raise UserMistake(f"there is a token {name!r} already", "choose another name, or give it a new secret: ramify token rotate")
    return name.strip()


def checked_scopes(given: Sequence[str]) -> tuple[Scope, ...]:
    for scope in given:
        if scope not in SCOPES:
            raise UserMistake(f"there is no scope {scope!r}", f"the scopes are {', '.join(SCOPES)}")
    found = tuple(scope for scope in SCOPES if scope in given)
    if not found:
        raise UserMistake("a token without a scope would open nothing", f"give one or more of {', '.join(SCOPES)}")
    return found


def checked_projects(given: Sequence[str]) -> tuple[str, ...]:
    found = tuple(sorted({name.strip() for name in given} - {""}))
    if not found:
        raise UserMistake("a token for no project would open nothing", "name projects, or leave them out for all")
    return found


def check_time(seconds: int) -> None:
    if not 0 <= seconds <= LONGEST:
        raise UserMistake(f"{seconds} seconds are no time that a token can have", "give up to 100 years, or nothing")


def is_within(projects: Sequence[str] | None, by: Identity) -> bool:
    return by.projects is None or (projects is not None and by.projects.issuperset(projects))


def check_within(projects: Sequence[str] | None, by: Identity) -> None:
    if not is_within(projects, by):
        own = ", ".join(sorted(by.projects or ()))
        raise UserMistake("nobody can give away more than they have", f"name only projects of your own: {own}")


def token_shape(token: Token, at: int) -> Answer:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": list(token.scopes),
        "projects": None if token.projects is None else list(token.projects),
        "status": "revoked" if token.revoked else "active" if token.lives(at) else "expired",
        "created": iso(token.created),
        "changed": iso(token.changed),
        "expires": iso(token.expires),
        "revoked": iso(token.revoked),
        "earlier_until": iso(token.earlier_until) if token.earlier and at < token.earlier_until else None,
    }


class TokenDesk:
    """The same in the shapes that people and programs are answered with."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._tokens = Tokens(store, clock)
        self._clock = clock

    def create(self, name: str, scopes: Sequence[str], projects: Sequence[str] | None, seconds: int, by: Identity) -> Answer:
        return self._given(*self._tokens.create(Wanted(name, scopes, projects, seconds), by))

    def listed(self, by: Identity) -> list[Answer]:
        return [token_shape(token, self._clock()) for token in self._tokens.listed(by)]

    def revoke(self, name: str, by: Identity) -> Answer:
        return token_shape(self._tokens.revoke(name, by), self._clock())

    def rotate(self, name: str, grace: int, by: Identity) -> Answer:
        return self._given(*self._tokens.rotate(name, grace, by))

    def _given(self, token: Token, secret: str) -> Answer:
        return {**token_shape(token, self._clock()), "secret": secret}
