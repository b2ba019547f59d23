"""Who holds which token and who is logged in, as a server knows it: never older than a second while the store can be read,
and no question to it for each request. While the store is away, what was known last goes on to count."""

import asyncio
import hmac
import logging
import socket
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec.structs import replace

from ramify.logins import LONGEST, SLIDE, Login, drop_logins, keep_login, new_id, place_of, read_logins, surplus
from ramify.model.identity import SCOPES, Identity
from ramify.model.token import Token, digest_of
from ramify.settings import Settings, is_loopback
from ramify.storage.base import Store, StoreDown
from ramify.tokens import new_secret, read_tokens

log = logging.getLogger("ramify")
FRESH_SECONDS = 1.0
PATIENCE_SECONDS = 0.25  # how long a request waits for a list that is being read; after that the last one has to do


class Access:
    """`guarded`: everybody must say who they are; `strict`: captured traffic of this machine, too. `own` is the secret
    with which the server talks to itself; it is made anew each time, and nobody else knows it."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], int]) -> None:
        self.guarded = is_guarded(settings)
        self.strict = settings.require_token
        self.secure = (settings.public_url or "").startswith("https:")
        self.proxy = settings.trusted_proxy
        self.names = frozenset({socket.gethostname().lower(), (urlsplit(settings.public_url or "").hostname or "").rstrip(".")} - {""})
        self.own = new_secret()
        self._store = store
        self._clock = clock
        self._fixed = [(digest_of(self.own), Identity("ramify", frozenset(SCOPES)))]
        if settings.token is not None:
            self._fixed.append((digest_of(settings.token), Identity("token", frozenset(SCOPES))))
        self._tokens: dict[bytes, Token] = {}
        self._logins: dict[str, Login] = {}
        self._read_at = float("-inf")
        self._lock = threading.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._began = 0.0
        self._away = False

    # -- tokens --------------------------------------------------------------------------------------------------------

    async def identify(self, secret: str) -> Identity | None:
        await self._refresh()
        return self.of(digest_of(secret))

    def of(self, digest: bytes) -> Identity | None:
        for fixed, identity in self._fixed:
            if hmac.compare_digest(fixed, digest):
                return identity
        token = self._tokens.get(digest)
        return token.identity if token is not None and token.opens(digest, self._clock()) else None

    # -- people --------------------------------------------------------------------------------------------------------

    async def log_in(self, secret: str) -> tuple[str, Identity] | None:
        """With a token; gives the id of the login, which is new each time."""
        identity = await self.identify(secret)
        if identity is None:
            return None
        at = self._clock()
        login = Login(credential=digest_of(secret), opened=at, seen=at, until=at + LONGEST)
        return await asyncio.to_thread(self._open, login), identity

    async def log_in_as(self, identity: Identity, until: int) -> str:
        """Somebody whom another vouches for."""
        at = self._clock()
        projects = None if identity.projects is None else tuple(sorted(identity.projects))
        scopes = tuple(scope for scope in SCOPES if scope in identity.scopes)
        login = Login(name=identity.name, scopes=scopes, projects=projects, opened=at, seen=at, until=min(until, at + LONGEST))
        return await asyncio.to_thread(self._open, login)

    async def logged_in(self, id: str) -> Identity | None:
        await self._refresh()
        place, at = place_of(id), self._clock()
        login = self._logins.get(place)
        if login is None or not login.lives(at):
            return None
        if at - login.seen > SLIDE:
            self._logins[place] = login = replace(login, seen=at)
            await asyncio.to_thread(self._slide, place, login)
        return self.of(login.credential) if login.credential else login.identity

    async def log_out(self, id: str) -> None:
        self._logins.pop(place_of(id), None)
        await asyncio.to_thread(drop_logins, self._store, [place_of(id)])

    def _open(self, login: Login) -> str:
        id = new_id()
        known = read_logins(self._store)
        drop_logins(self._store, surplus(known, login.opened))
        keep_login(self._store, place_of(id), login)
        self._logins[place_of(id)] = login
        return id

    def _slide(self, place: str, login: Login) -> None:
        try:
            keep_login(self._store, place, login)
        except StoreDown as problem:
            log.warning("a login cannot be prolonged: %s", problem)

    # -- what the store says ---------------------------------------------------------------------------------------------

    async def _refresh(self) -> None:
        if time.monotonic() - self._read_at < FRESH_SECONDS:
            return
        if self._reading is None or self._reading.done():
            self._reading, self._began = asyncio.create_task(asyncio.to_thread(self.read)), time.monotonic()
        left = self._began + PATIENCE_SECONDS - time.monotonic()  # of one that hangs everybody but the first knows
        done, _ = await asyncio.wait({self._reading}, timeout=max(0.0, left))
        for reading in done:
            reading.result()

    def read(self) -> None:
        asked_at = time.monotonic()
        try:
            tokens, logins = read_tokens(self._store), read_logins(self._store)
        except StoreDown as problem:
            if not self._away:
                log.warning("tokens cannot be read, those known last go on to count: %s", problem)
            self._away = True
            return
        known: dict[bytes, Token] = {}
        for token in tokens:
            known |= {digest: token for digest in (token.digest, token.earlier) if digest}
        with self._lock:
            if asked_at >= self._read_at:  # else somebody has asked after us, and knows better
                self._tokens, self._logins, self._read_at, self._away = known, logins, asked_at, False


def is_guarded(settings: Settings) -> bool:
    protected = settings.token is not None or settings.oidc_issuer is not None
    return protected or settings.require_token or not is_loopback(settings.host)
