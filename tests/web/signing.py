"""A sender that signs its pushes by RFC 9421, written from the RFC alone; and its public keys."""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

COVERED = ("@method", "@target-uri", "@authority", "content-type", "content-digest")
PURPOSE = {"use": "sig", "key_ops": ["verify"], "adcp_use": "request-signing"}


def unpadded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@dataclass
class Sender:
    algorithm: str = "ed25519"
    name: str = "seller-2026"
    covered: tuple[str, ...] = COVERED
    changed: dict[str, Any] = field(default_factory=dict)  # parameters of the signature; None leaves one out

    def __post_init__(self) -> None:
        self._edwards = Ed25519PrivateKey.generate()
        self._elliptic = generate_private_key(SECP256R1())

    @property
    def key(self) -> dict[str, Any]:
        if self.algorithm == "ed25519":
            return {"kid": self.name, "kty": "OKP", "crv": "Ed25519", "x": unpadded(self._edwards.public_key().public_bytes_raw()), **PURPOSE}
        numbers = self._elliptic.public_key().public_numbers()
        point = {"x": unpadded(numbers.x.to_bytes(32, "big")), "y": unpadded(numbers.y.to_bytes(32, "big"))}
        return {"kid": self.name, "kty": "EC", "crv": "P-256", **point, **PURPOSE}

    @property
    def keys(self) -> str:
        return json.dumps({"keys": [self.key]})

    def headers(self, url: str, body: bytes) -> dict[str, str]:
        sent = {"content-type": "application/json", "content-digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"}
        values = {"@method": "POST", "@target-uri": url, "@authority": url.split("/")[2], **sent}
        now = int(time.time())
        parameters = {
            "created": now, "expires": now + 300, "nonce": secrets.token_urlsafe(16), "keyid": self.name, "alg": self.algorithm,
            "tag": "adcp/webhook-signing/v1",
        } | self.changed  # fmt: skip
        listed = "".join(f";{name}={json.dumps(value)}" for name, value in parameters.items() if value is not None)
        account = f"({' '.join(json.dumps(name) for name in self.covered)}){listed}"
        base = "\n".join([*(f'"{name}": {values[name]}' for name in self.covered), f'"@signature-params": {account}'])
        return sent | {"signature-input": f"sig1={account}", "signature": f"sig1=:{unpadded(self._sign(base.encode()))}:"}

    def _sign(self, base: bytes) -> bytes:
        if self.algorithm == "ed25519":
            return self._edwards.sign(base)
        r, s = decode_dss_signature(self._elliptic.sign(base, ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
