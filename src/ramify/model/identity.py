"""Who asks: what somebody may do, and whose data they may see. Decided once at the door; everything behind it only reads it."""

from typing import Literal

from msgspec import Struct

Scope = Literal["capture", "read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("capture", "read", "write", "admin")


class Identity(Struct, frozen=True):
    """`name` is told in the audit; `projects` are those whose data may be seen and added to, None: all of them."""

    name: str
    scopes: frozenset[Scope]
    projects: frozenset[str] | None = None

    def may(self, scope: Scope) -> bool:
        """An admin may do everything; whoever may write may read."""
        return scope in self.scopes or "admin" in self.scopes or (scope == "read" and "write" in self.scopes)

    def sees(self, project: str) -> bool:
        return self.projects is None or project in self.projects


LOCAL = Identity("local", frozenset(SCOPES))
"""Whoever reaches a server of this machine that asks for no token."""
