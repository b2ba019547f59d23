"""From what a provider says of somebody to what they may do here: rules, of which the first that fits counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ramify.model.identity import SCOPES, Identity, Scope

EVERYBODY = "*"


class Rule(Struct, frozen=True):
    """Whoever has the value among those of the claim. An empty claim fits everybody; no projects: all of them."""

    claim: str
    value: str
    scopes: tuple[Scope, ...]
    projects: tuple[str, ...] | None


def read_rule(text: str) -> Rule:
    """`CLAIM=VALUE:SCOPES:PROJECTS`, or `*:SCOPES:PROJECTS`; several with + between them. Raises ValueError."""
    who, *rest = text.strip().rsplit(":", 2)
    if len(rest) != 2 or not who:
        raise ValueError("must be written as CLAIM=VALUE:SCOPES:PROJECTS")
    claim, equal, value = who.partition("=")
    if who != EVERYBODY and not (claim and equal and value):
        raise ValueError("must name a claim and a value, such as groups=agents:read:billing")
    given = rest[0].split("+")
    if unknown := [scope for scope in given if scope not in SCOPES]:
        raise ValueError(f"must name scopes of {', '.join(SCOPES)}, which {unknown[0]!r} is none of")
    projects = tuple(sorted({name for name in rest[1].split("+") if name}))
    if not projects:
        raise ValueError("must name projects, or * for all")
    scopes = tuple(scope for scope in SCOPES if scope in given)
    return Rule("" if who == EVERYBODY else claim, value, scopes, None if EVERYBODY in projects else projects)


def identity_of(claims: Mapping[str, Any], rules: Sequence[Rule]) -> Identity | None:
    found = next((rule for rule in rules if not rule.claim or rule.value in values_of(claims, rule.claim)), None)
    if found is None:
        return None
    projects = None if found.projects is None else frozenset(found.projects)
    return Identity(f"oidc:{name_of(claims)}"[:200], frozenset(found.scopes), projects)


def values_of(claims: Mapping[str, Any], name: str) -> list[str]:
    """Some providers put them inside one another: `realm_access.roles`. An address that was not verified is anybody's."""
    if name == "email" and claims.get("email_verified") is not True:
        return []
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def name_of(claims: Mapping[str, Any]) -> str:
    """What nobody can choose for themselves."""
    return next(iter(values_of(claims, "email")), "") or str(claims.get("sub", ""))
