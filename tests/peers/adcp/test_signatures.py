"""Signatures of RFC 9421 as AdCP's own library makes and judges them: its vectors for receivers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ramify.protocols.adcp.message_signature import BadSignature, Push, Signer, check, signature_base
from ramify.protocols.adcp.signed_headers import read_covered
from ramify.web.public_keys import has_signed
from ramify.web.pushers import Nonces
from tests.peers.adcp.environment import package

pytestmark = pytest.mark.peer
NOT_OURS = ("key_revoked", "revocation_stale")
"""Lists of revoked keys, which are not fetched."""


def vectors(sort: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    folder = package() / "_compliance/3.2.4/test-vectors/webhook-signing"
    keys = {key["kid"]: key for key in json.loads((folder / "keys.json").read_text())["keys"]}
    for path in sorted((folder / sort).glob("*.json")):
        vector = json.loads(path.read_text())
        given = {name: keys[name] for name in vector["jwks_ref"] if name in keys} | vector.get("jwks_override", {})
        yield path.stem, vector, given


def pushed(vector: dict[str, Any]) -> Push:
    request = vector["request"]
    headers = {name.lower(): value for name, value in request["headers"].items()}
    return Push(request["url"], headers, request["body"].encode(), request["method"])


def test_every_push_that_must_be_accepted_is() -> None:
    names = []
    for name, vector, keys in vectors("positive"):
        push = pushed(vector)
        covered = read_covered(push.headers["signature-input"], "sig1")
        assert signature_base(push, covered).decode() == vector["expected_signature_base"], name
        assert check(push, keys, has_signed, vector["reference_now"]).key in keys, name
        names.append(name)
    assert len(names) == 8


def test_every_push_that_must_be_refused_is_for_the_reason_that_is_named() -> None:
    codes = []
    for name, vector, keys in vectors("negative"):
        expected = vector["expected_outcome"]["error_code"]
        if expected.removeprefix("webhook_signature_") in NOT_OURS:
            continue
        with pytest.raises(BadSignature) as seen:
            signer = check(pushed(vector), keys, has_signed, vector["reference_now"])
            nonces(vector).check(signer, vector["reference_now"])
        assert seen.value.code == expected, name
        codes.append(expected)
    assert len(codes) == 19


def nonces(vector: dict[str, Any]) -> Nonces:
    state = vector.get("test_harness_state", {})
    until = vector["reference_now"] + 300
    found = Nonces(1)
    for one in state.get("replay_cache_entries", ()):
        found.keep(Signer(one["keyid"], one["nonce"], until))
    if "per_keyid_cap_filled_for" in state:
        found.keep(Signer(state["per_keyid_cap_filled_for"], "one of many", until))
    return found
