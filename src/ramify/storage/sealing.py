"""Bodies encrypted at rest: AES-256-GCM with a data key of the store's own, which the user's key wraps.

The wrapped key is a fact of the store, so a new key of the user changes one fact and no body. The user's key comes from the
environment alone: a command line is seen by others, a settings file is printed.
"""

import base64
import binascii
import hmac
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from ramify.model.mistake import UserMistake
from ramify.storage.base import Store, StoreDown

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FACT = "sealing"
VARIABLE, NEW_VARIABLE = "RAMIFY_ENCRYPTION_KEY", "RAMIFY_NEW_ENCRYPTION_KEY"
INDEX_VARIABLE = "RAMIFY_ENCRYPTION_INDEX"
KEY_BYTES, ID_BYTES, NONCE_BYTES = 32, 4, 12
SEALED = 4  # a bit of the kind of a payload
MESSAGE = 0xFF  # the kind of what is no piece: a message that waits in the spool
WRAPPED = b"ramify sealing 1"  # what the wrapped key is bound to, and the form of the fact


class Sealer:
    """One data key. Pieces, digests and the key's own name each have a key that follows from it."""

    def __init__(self, data_key: bytes) -> None:
        self.data_key = data_key
        self.id = derived(data_key, b"id")[:ID_BYTES]
        self._cipher = cipher(derived(data_key, b"payload"))
        self._digests = derived(data_key, b"digest")

    def seal(self, kind: int, payload: bytes) -> tuple[int, bytes]:
        kind |= SEALED
        nonce = os.urandom(NONCE_BYTES)
        return kind, self.id + nonce + self._cipher.encrypt(nonce, payload, self._about(kind))

    def open(self, kind: int, payload: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        nonce = payload[ID_BYTES : ID_BYTES + NONCE_BYTES]
        try:
            return self._cipher.decrypt(nonce, payload[ID_BYTES + NONCE_BYTES :], self._about(kind))
        except (InvalidTag, ValueError):
            raise StoreDown("an encrypted payload was changed since it was stored") from None

    def digest(self, payload: bytes) -> bytes:
        """Without the key nobody can try whether some text is among those that are kept."""
        return blake2b(payload, key=self._digests, digest_size=32).digest()

    def _about(self, kind: int) -> bytes:
        return bytes((kind,)) + self.id


_sealers: dict[bytes, Sealer] = {}
"""Those of all stores that this process has opened: a payload says by which it was sealed."""


def know(sealer: Sealer) -> Sealer:
    return _sealers.setdefault(sealer.id, sealer)


def unseal(kind: int, payload: bytes) -> bytes:
    return sealer_of(payload).open(kind, payload)


def has_key_of(payload: bytes) -> bool:
    return payload[:ID_BYTES] in _sealers


def sealer_of(payload: bytes) -> Sealer:
    found = _sealers.get(payload[:ID_BYTES])
    if found is None:
        raise StoreDown("a payload is encrypted with a key that is not at hand")
    return found


def derived(key: bytes, purpose: bytes) -> bytes:
    return blake2b(purpose, key=key, digest_size=KEY_BYTES, person=b"ramify sealing").digest()


def cipher(key: bytes) -> "AESGCM":
    """An extra: who encrypts nothing need not have it."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as problem:
        raise UserMistake(f"encryption needs a library that is not installed ({problem})", "pip install 'ramify[encrypted]'") from problem
    return AESGCM(key)


# -- the user's key ----------------------------------------------------------------------------------------------------


def user_key(environment: Mapping[str, str], variable: str = VARIABLE) -> bytes | None:
    """From the variable, or from the file that `…_FILE` names. What is wrong with it is said without it."""
    given, file = environment.get(variable), environment.get(f"{variable}_FILE")
    if given and file:
        raise UserMistake(f"{variable} and {variable}_FILE are both set", "unset one of them")
    if given:
        return read_key(given, variable)
    if not file:
        return None
    try:
        return read_key(Path(file).expanduser().read_text("ascii"), file)
    except (OSError, UnicodeError) as problem:
        said = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise UserMistake(f"the key in {file}, which {variable}_FILE names, cannot be read: {said}", "check the path and its permissions") from None


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """For programs that others wrote: what one of them has, it may tell."""
    return {name: value for name, value in environment.items() if name not in (VARIABLE, NEW_VARIABLE)}


def read_key(text: str, where: str) -> bytes:
    text = text.strip()
    try:
        key = bytes.fromhex(text) if len(text) == 2 * KEY_BYTES else base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        raise UserMistake(f"{where} holds no key: 32 bytes in hexadecimal or base64 are wanted", "make one: openssl rand -hex 32")
    return key


def wrap(data_key: bytes, key: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher(key).encrypt(nonce, data_key, WRAPPED)


def unwrap(wrapped: bytes, key: bytes) -> bytes | None:
    """None: it was wrapped with another key."""
    from cryptography.exceptions import InvalidTag

    try:
        return cipher(key).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], WRAPPED)
    except (InvalidTag, ValueError):
        return None


# -- a store -----------------------------------------------------------------------------------------------------------


def unlock(store: Store, environment: Mapping[str, str], begin: bool = True) -> None:
    """A store that is encrypted opens with its key alone; one that is not becomes so when there is a key, if it may `begin`."""
    key, wrapped = user_key(environment), store.fact(FACT)
    if wrapped is None:
        if key is None or not begin:
            return
        wrapped = begin_sealing(store, key)
    store.sealer = _opened(store, wrapped, key)
    store.search.fed = environment.get(INDEX_VARIABLE, "").lower() in ("yes", "true", "1")  # it would hold words in clear


def _opened(store: Store, wrapped: str | bytes | int, key: bytes | None) -> Sealer:
    if key is None:
        raise UserMistake(f"the store {store.url} is encrypted, and there is no key", f"set {VARIABLE}_FILE, or {VARIABLE}")
    data_key = unwrap(wrapped, key) if isinstance(wrapped, bytes) else None
    if data_key is None:
        raise UserMistake(f"the store {store.url} is encrypted with another key", f"set {VARIABLE}_FILE, or {VARIABLE}, to the one it has now")
    return know(Sealer(data_key))


def keep_key(store: Store, path: Path) -> None:
    """The wrapped key beside what waits for the store: whoever starts while it is away can go on to encrypt. Useless without the user's."""
    wrapped = store.fact(FACT)
    if not isinstance(wrapped, bytes):
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != wrapped:
        put_key(path, wrapped)


def put_key(path: Path, wrapped: bytes) -> None:
    """On disk before anything that only it can open."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.touch(mode=0o600)
    with fresh.open("r+b") as file:
        file.truncate()
        file.write(wrapped)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def kept_sealer(path: Path, environment: Mapping[str, str]) -> Sealer | None:
    """Of the store that was open here last; None where it was not encrypted. StoreDown: only the store itself can say."""
    key, wrapped = user_key(environment), path.read_bytes() if path.exists() else None
    if key is None and wrapped is None:
        return None
    data_key = unwrap(wrapped, key) if wrapped is not None and key is not None else None
    if data_key is None:
        raise StoreDown("its key is not known here")
    return know(Sealer(data_key))


def own_sealer(path: Path, environment: Mapping[str, str]) -> Sealer | None:
    """With a data key that is nobody's but the spool's, made here: for a store that was never open here, and is away. None without a key."""
    key = user_key(environment)
    if key is None:
        return None
    if not path.exists():
        put_key(path, wrap(os.urandom(KEY_BYTES), key))
    data_key = unwrap(path.read_bytes(), key)
    return None if data_key is None else know(Sealer(data_key))


def begin_sealing(store: Store, key: bytes) -> bytes:
    """Of several processes that come first, one makes the data key."""
    wrapped = wrap(os.urandom(KEY_BYTES), key)
    try:
        with store.exclusive():
            there = store.fact(FACT)
            if isinstance(there, bytes):
                return there
            store.set_fact(FACT, wrapped)
    except StoreDown as problem:
        raise UserMistake(f"the store {store.url} cannot be encrypted now: {problem}", f"unset {VARIABLE} to read it as it is, or try again") from problem
    return wrapped


def rekey(store: Store, environment: Mapping[str, str]) -> None:
    """The same data key, wrapped with the new key. It is read back: nobody else could."""
    if store.sealer is None:
        raise UserMistake(f"the store {store.url} is not encrypted", f"set {VARIABLE}_FILE, and it is from then on")
    key = user_key(environment, NEW_VARIABLE)
    if key is None:
        raise UserMistake("there is no new key", f"set {NEW_VARIABLE}_FILE, or {NEW_VARIABLE}")
    data_key = store.sealer.data_key
    store.set_fact(FACT, wrap(data_key, key))
    there = store.fact(FACT)
    if not isinstance(there, bytes) or not hmac.compare_digest(unwrap(there, key) or b"", data_key):
        raise UserMistake(f"the store {store.url} did not take the new key", "keep both keys, and run the same again")
