"""A token: whoever holds it may do so much with the data of these projects, for so long. Only a hash of it is kept."""

import hashlib
import string

import msgspec
from msgspec import Struct

from ramify.model.identity import Identity, Scope

FACT = "token:"
PREFIX = "rmf_"  # by it redaction, and scanners of others, know a token wherever it turns up
LETTERS = string.ascii_letters + string.digits
LENGTH = 43  # letters of 62: 256 bits


def digest_of(secret: str) -> bytes:
    """Plain SHA-256: the secret is 256 random bits, so nobody finds it by guessing, however fast; slowness or salt would
    protect words that people choose. Without a key of the store's own a copied store still knows its tokens."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class Token(Struct, frozen=True, kw_only=True):
    """Times in microseconds since 1970; 0: never. `earlier` is the hash of the secret before the last rotation."""

    id: str
    name: str
    digest: bytes
    scopes: tuple[Scope, ...]
    projects: tuple[str, ...] | None = None  # None: all
    created: int
    changed: int
    expires: int = 0
    revoked: int = 0
    earlier: bytes = b""
    earlier_until: int = 0

    def lives(self, at: int) -> bool:
        return not self.revoked and (not self.expires or at < self.expires)

    def opens(self, digest: bytes, at: int) -> bool:
        current = digest == self.digest or (digest == self.earlier and at < self.earlier_until)
        return current and self.lives(at)

    @property
    def identity(self) -> Identity:
        projects = None if self.projects is None else frozenset(self.projects)
        return Identity(self.name, frozenset(self.scopes), projects)


encode_token = msgspec.msgpack.Encoder().encode
decode_token = msgspec.msgpack.Decoder(Token).decode


def later(one: bytes, other: bytes) -> bytes:
    """Of two that a store and its copy hold of the same token: a revocation must not be undone by what was copied before."""
    return one if decode_token(one).changed >= decode_token(other).changed else other
