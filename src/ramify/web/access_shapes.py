"""The shapes of access: tokens, who somebody is, and the audit."""

from typing import Literal

from msgspec import Struct

from ramify.model.identity import Scope
from ramify.web.shapes import Moment


class TokenEntry(Struct, kw_only=True):
    """`projects` null: all. `earlier_until`: so long the secret before the last rotation works on."""

    id: str
    name: str
    scopes: list[Scope]
    projects: list[str] | None
    status: Literal["active", "expired", "revoked"]
    created: Moment
    changed: Moment
    expires: Moment | None
    revoked: Moment | None
    earlier_until: Moment | None


class NewToken(TokenEntry, kw_only=True):
    """`secret` is told once, here."""

    secret: str


class WantedToken(Struct, forbid_unknown_fields=True):
    """Without projects: for all. `expires_in` in seconds; 0: never."""

    name: str
    scopes: list[Scope]
    projects: list[str] | None = None
    expires_in: int = 0


class Rotation(Struct, forbid_unknown_fields=True):
    """For how many seconds the secret so far works on."""

    grace: int = 3600


class Credentials(Struct, forbid_unknown_fields=True):
    token: str


class LoginWays(Struct, kw_only=True):
    """`needed`: nothing is told to strangers. `oidc`: the name of who else vouches for people, if somebody does."""

    needed: bool
    token: bool
    oidc: str | None


class Who(Struct, kw_only=True):
    """`projects` null: all. `login`: by a login of the page, which can be ended."""

    name: str
    scopes: list[Scope]
    projects: list[str] | None
    login: bool


class LoggedOut(Struct):
    out: bool


class AuditEntry(Struct, kw_only=True):
    """`project` null: it concerns no single one."""

    id: str
    at: Moment
    who: str
    act: str
    what: str | None
    way: Literal["http", "command", "mcp"]
    address: str | None
    project: str | None
    more: dict[str, str]


ACCESS_SHAPES: tuple[type[Struct], ...] = (
    TokenEntry, NewToken, WantedToken, Rotation, Credentials, LoginWays, Who, LoggedOut, AuditEntry,
)  # fmt: skip
