"""Pushes that are signed as RFC 9421 says, in the profile that AdCP fixes (`adcp/webhook-signing/v1`).

The checks stand in the profile's order, and what fails is called by the profile's names. Which nonces were seen is
known to whoever receives; lists of revoked keys are not looked at: whoever configures keys takes a revoked one away.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ramify.protocols.adcp.signed_headers import Covered, Malformed, read_binary, read_covered
from ramify.protocols.adcp.target import authority, target_uri

LABEL, TAG = "sig1", "adcp/webhook-signing/v1"
REQUIRED = ("@method", "@target-uri", "@authority", "content-type", "content-digest")
PARAMETERS = {"created": int, "expires": int, "nonce": str, "keyid": str, "alg": str, "tag": str}
PURPOSES = ("request-signing", "webhook-signing")
KEYS_OF = {"ed25519": ("OKP", "Ed25519", "EdDSA"), "ecdsa-p256-sha256": ("EC", "P-256", "ES256")}
SKEW_SECONDS, WINDOW_SECONDS = 60, 300
LONGEST = 256

Key = Mapping[str, Any]
"""A JSON web key."""
Verify = Callable[[Key, bytes, bytes], bool]
"""Whether a key has signed these bytes: key, signature, what was signed."""


class BadSignature(Exception):
    """`code` is AdCP's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = f"webhook_signature_{code}"


class Push(Struct, frozen=True):
    """As it was received. Header names in small letters, values of a repeated header joined by commas."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


class Signer(Struct, frozen=True):
    key: str
    nonce: str
    expires: int


def is_signed(headers: Mapping[str, str]) -> bool:
    return "signature" in headers or "signature-input" in headers


def check(push: Push, keys: Mapping[str, Key], verify: Verify, now: float) -> Signer:
    """Who signed it. Raises BadSignature."""
    try:
        covered = read_covered(header(push, "signature-input"), LABEL)
        signature = read_binary(header(push, "signature"), LABEL, "Signature")
    except Malformed as problem:
        raise BadSignature("header_malformed", str(problem)) from None
    parameters = check_parameters(covered)
    check_window(parameters["created"], parameters["expires"], now)
    check_components(covered)
    key = check_key(keys, parameters["keyid"], parameters["alg"])
    if not verify(key, signature, signature_base(push, covered)):
        raise BadSignature("invalid", "the signature does not fit the message")
    check_digest(push)
    return Signer(parameters["keyid"], parameters["nonce"], parameters["expires"])


def header(push: Push, name: str) -> str:
    if name not in push.headers:
        raise Malformed(f"the header {name} is missing")
    return push.headers[name]


def check_parameters(covered: Covered) -> dict[str, Any]:
    found = covered.parameters
    for name, kind in PARAMETERS.items():
        if name not in found:
            raise BadSignature("params_incomplete", f"Signature-Input does not say {name}")
        if not isinstance(found[name], kind) or len(str(found[name])) > LONGEST:
            raise BadSignature("header_malformed", f"{name} in Signature-Input is not what it should be")
    if found["tag"] != TAG:
        raise BadSignature("tag_invalid", f"its tag is {str(found['tag'])[:60]!r}, not {TAG!r}")
    if found["alg"] not in KEYS_OF:
        raise BadSignature("alg_not_allowed", f"alg is {str(found['alg'])[:60]!r}, not one of {', '.join(KEYS_OF)}")
    return found


def check_window(created: int, expires: int, now: float) -> None:
    if expires <= created or expires - created > WINDOW_SECONDS:
        raise BadSignature("window_invalid", f"it is made for {expires - created} seconds; 1 to {WINDOW_SECONDS} are allowed")
    if now < created - SKEW_SECONDS:
        raise BadSignature("window_invalid", f"it was made {created - now:.0f} seconds in the future")
    if now > expires + SKEW_SECONDS:
        raise BadSignature("window_invalid", f"it expired {now - expires:.0f} seconds ago")


def check_components(covered: Covered) -> None:
    missing = [name for name in REQUIRED if name not in covered.components]
    if missing:
        raise BadSignature("components_incomplete", f"it does not cover {', '.join(missing)}")


def check_key(keys: Mapping[str, Key], name: str, algorithm: str) -> Key:
    if name not in keys:
        raise BadSignature("key_unknown", f"there is no key {name[:60]!r}")
    key = keys[name]
    kind, curve, own = KEYS_OF[algorithm]
    operations = key.get("key_ops")
    if key.get("use") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        raise BadSignature("key_purpose_invalid", f"the key {name!r} is not one to verify with (use, key_ops)")
    if key.get("adcp_use") not in PURPOSES:
        raise BadSignature("key_purpose_invalid", f"the key {name!r} is for {str(key.get('adcp_use'))[:60]!r}")
    if (key.get("kty"), key.get("crv")) != (kind, curve) or key.get("alg", own) != own:
        raise BadSignature("key_purpose_invalid", f"the key {name!r} is none for {algorithm}")
    return key


def check_digest(push: Push) -> None:
    try:
        given = read_binary(header(push, "content-digest"), "sha-256", "Content-Digest")
    except Malformed as problem:
        raise BadSignature("digest_mismatch", str(problem)) from None
    if not hmac.compare_digest(given, hashlib.sha256(push.body).digest()):
        raise BadSignature("digest_mismatch", "Content-Digest is that of another body")


def signature_base(push: Push, covered: Covered) -> bytes:
    """RFC 9421, 2.5: what was signed."""
    lines = [f'"{name}": {component(push, name)}' for name in covered.components]
    return "\n".join([*lines, f'"@signature-params": {covered.raw}']).encode("utf-8", "surrogateescape")


def component(push: Push, name: str) -> str:
    try:
        match name:
            case "@method":
                return push.method.upper()
            case "@target-uri":
                return target_uri(push.url)
            case "@authority":
                return authority(push.url)
    except ValueError as problem:
        raise BadSignature("invalid", f"the address cannot be read: {problem}") from None
    if name.startswith("@") or name not in push.headers:
        raise BadSignature("header_malformed", f"it covers {name[:60]!r}, which is not there")
    return push.headers[name].strip()
