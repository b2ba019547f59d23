"""Public keys of those who push, as JSON web keys in a file or a variable; `cryptography` does the arithmetic."""

import base64
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ramify.model.mistake import UserMistake
from ramify.protocols.adcp.message_signature import Key

log = logging.getLogger("ramify.web")
HINT = 'Write {"keys": [{"kid": …, "kty": …, …}]} there, or the path of a file that holds it'
P256_BYTES = 32


class PublicKeys:
    """`given` is JSON, or the path of a file, which is read again when it changes."""

    def __init__(self, variable: str, given: str) -> None:
        """Raises UserMistake."""
        self._variable = variable
        self._path = None if given.lstrip().startswith("{") else Path(given).expanduser()
        self._stamp = self._stamped()
        self._keys = read_keys(given, variable) if self._path is None else self._read(self._path)

    def current(self) -> Mapping[str, Key]:
        """Where the file is broken or gone, the keys that were there last: a push is not lost over a slip of an editor."""
        if self._path is not None and (stamp := self._stamped()) != self._stamp:
            self._stamp = stamp
            try:
                self._keys = self._read(self._path)
            except UserMistake as mistake:
                log.error("keys for webhooks stay as they were: %s", mistake)
        return self._keys

    def _stamped(self) -> tuple[int, int]:
        try:
            found = self._path.stat() if self._path is not None else None
        except OSError:
            found = None
        return (found.st_mtime_ns, found.st_size) if found is not None else (0, 0)

    def _read(self, path: Path) -> dict[str, Key]:
        try:
            return read_keys(path.read_text(), self._variable)
        except (OSError, UnicodeError) as problem:
            raise UserMistake(f"{self._variable} names {str(path)!r}, which cannot be read: {problem}", HINT) from None


def read_keys(text: str, variable: str) -> dict[str, Key]:
    try:
        keys = msgspec.json.decode(text, type=dict[str, Any])["keys"]
        found = {key["kid"]: key for key in keys}
    except (ValueError, RecursionError, LookupError, TypeError):
        raise UserMistake(f"{variable} holds no JSON web keys", HINT) from None
    for name, key in found.items():
        check_readable(name, key, variable)
    return found


def check_readable(name: str, key: Key, variable: str) -> None:
    try:
        loaded(key)
    except ImportError:
        raise UserMistake(f"{variable} needs a package that is not installed", "pip install 'ramify[signatures]'") from None
    except (ValueError, TypeError, LookupError) as problem:
        raise UserMistake(f"{variable} has a key {name!r} that cannot be read: {problem}", HINT) from None


def loaded(key: Key) -> Any:
    """Ed25519 or P-256; ValueError, TypeError or LookupError for anything else."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    match key.get("kty"), key.get("crv"):
        case "OKP", "Ed25519":
            return Ed25519PublicKey.from_public_bytes(raw(key["x"]))
        case "EC", "P-256":
            x, y = (int.from_bytes(raw(key[name]), "big") for name in ("x", "y"))
            return EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()
    raise ValueError("it is neither of Ed25519 nor of P-256")


def raw(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)


def has_signed(key: Key, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    public = loaded(key)
    try:
        if key["kty"] == "OKP":
            public.verify(signature, message)
        elif len(signature) == 2 * P256_BYTES:  # RFC 9421, 3.3.2: both numbers one after the other
            r, s = (int.from_bytes(half, "big") for half in (signature[:P256_BYTES], signature[P256_BYTES:]))
            public.verify(encode_dss_signature(r, s), message, ECDSA(SHA256()))
        else:
            return False
    except InvalidSignature:
        return False
    return True
