"""Tokens: what is kept of them, who may make which, and when they open nothing any more."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ramify.capture.redact import redact_string
from ramify.copying import copy
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.logins import read_logins
from ramify.model.identity import LOCAL, SCOPES, Identity
from ramify.model.mistake import UserMistake
from ramify.model.token import PREFIX, Token, digest_of
from ramify.query.errors import NotFound
from ramify.storage.base import Store
from ramify.storage.sqlite import Sqlite, open_sqlite
from ramify.tokens import Tokens, Wanted, new_secret, read_tokens, token_shape

SECOND = 1_000_000


class World:
    def __init__(self, store: Store) -> None:
        self.at = 1_700_000_000 * SECOND
        self.store = store
        self.tokens = Tokens(store, lambda: self.at)

    def later(self, seconds: float) -> None:
        self.at += int(seconds * SECOND)

    def opened(self, secret: str) -> Token | None:
        found = [token for token in read_tokens(self.store) if token.opens(digest_of(secret), self.at)]
        return found[0] if found else None


@pytest.fixture
def world() -> Iterator[World]:
    store = open_sqlite("memory:")
    yield World(store)
    store.close()


def test_a_secret_is_long_random_and_known_to_redaction() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert all(secret.startswith(PREFIX) and len(secret) == 47 for secret in secrets)
    for secret in secrets:
        said = redact_string(f"I put the token {secret} into the file")
        assert secret not in said
        assert secret[10:] not in said


def test_only_a_hash_of_the_secret_is_kept(tmp_path: Path) -> None:
    store = Sqlite("sqlite:x", str(tmp_path / "x.db"))
    token, secret = Tokens(store, lambda: 5).create(Wanted("ci", ["capture"], ["billing"]), LOCAL)
    store.close()
    assert token.identity == Identity("ci", frozenset(["capture"]), frozenset(["billing"]))
    for file in tmp_path.iterdir():
        assert secret[4:].encode() not in file.read_bytes()


def test_it_opens_until_it_expires(world: World) -> None:
    _, secret = world.tokens.create(Wanted("a", ["read"], seconds=60), LOCAL)
    world.later(59.9)
    assert world.opened(secret)
    world.later(0.1)
    assert world.opened(secret) is None
    assert token_shape(read_tokens(world.store)[0], world.at)["status"] == "expired"


def test_it_opens_until_it_is_revoked_and_its_name_is_free_then(world: World) -> None:
    token, secret = world.tokens.create(Wanted("a", ["read"]), LOCAL)
    with pytest.raises(UserMistake, match="already"):
        world.tokens.create(Wanted("a", ["read"]), LOCAL)
    world.tokens.revoke("a", LOCAL)
    assert world.opened(secret) is None
    again, other = world.tokens.create(Wanted("a", ["read"]), LOCAL)
    assert world.opened(other) == again
    assert world.tokens.revoke(token.id, LOCAL).revoked  # by its id the old one is still known
    assert world.opened(other) == again


def test_a_rotated_token_opens_with_both_secrets_for_a_while(world: World) -> None:
    _, first = world.tokens.create(Wanted("a", ["read"]), LOCAL)
    _, second = world.tokens.rotate("a", 60, LOCAL)
    assert world.opened(first)
    assert world.opened(second)
    world.later(60)
    assert world.opened(first) is None
    assert world.opened(second)
    _, third = world.tokens.rotate("a", 0, LOCAL)
    assert world.opened(second) is None
    assert world.opened(third)


def test_what_was_revoked_has_no_earlier_secret_either(world: World) -> None:
    _, first = world.tokens.create(Wanted("a", ["read"]), LOCAL)
    _, second = world.tokens.rotate("a", 60, LOCAL)
    world.tokens.revoke("a", LOCAL)
    assert world.opened(first) is None
    assert world.opened(second) is None
    with pytest.raises(UserMistake, match="revoked"):
        world.tokens.rotate("a", 60, LOCAL)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Wanted("", ["read"]), "called"),
        (Wanted("a\nb", ["read"]), "called"),
        (Wanted("x" * 81, ["read"]), "called"),
        (Wanted("a", []), "without a scope"),
        (Wanted("a", ["read", "root"]), "no scope 'root'"),
        (Wanted("a", ["read"], []), "no project"),
        (Wanted("a", ["read"], [" "]), "no project"),
        (Wanted("a", ["read"], seconds=-1), "seconds"),
        (Wanted("a", ["read"], seconds=10**12), "seconds"),
    ],
)
def test_what_would_open_nothing_or_too_much_is_refused(world: World, wanted: Wanted, why: str) -> None:
    with pytest.raises(UserMistake, match=why):
        world.tokens.create(wanted, LOCAL)
    assert read_tokens(world.store) == []


def test_what_a_newer_version_wrote_opens_nothing_and_locks_nobody_out(world: World) -> None:
    _, secret = world.tokens.create(Wanted("a", ["read"]), LOCAL)
    newer = {"id": "tok_x", "name": "x", "digest": b"x", "scopes": ["fly"], "created": 1, "changed": 1}
    world.store.set_facts({"token:tok_x": msgspec.msgpack.encode(newer), "token:tok_y": b"\xc1", "login:y": b"\xc1"})
    assert world.opened(secret)
    assert read_logins(world.store) == {}


def test_nobody_gives_away_or_touches_more_than_they_have(world: World) -> None:
    ours = Identity("ours", frozenset(SCOPES), frozenset(["one"]))
    world.tokens.create(Wanted("all", ["read"]), LOCAL)
    world.tokens.create(Wanted("two", ["read"], ["two"]), LOCAL)
    for projects in (None, ["two"], ["one", "two"]):
        with pytest.raises(UserMistake, match="more than they have"):
            world.tokens.create(Wanted("mine", ["read"], projects), ours)
    world.tokens.create(Wanted("mine", ["read"], ["one"]), ours)
    assert [token.name for token in world.tokens.listed(ours)] == ["mine"]
    for act in (lambda: world.tokens.revoke("two", ours), lambda: world.tokens.rotate("all", 0, ours)):
        with pytest.raises(NotFound):
            act()


def test_a_copied_store_knows_the_tokens_and_what_became_of_them(world: World, tmp_path: Path) -> None:
    target = Sqlite("sqlite:x", str(tmp_path / "x.db"))
    _, kept = world.tokens.create(Wanted("kept", ["read"]), LOCAL)
    _, leaked = world.tokens.create(Wanted("leaked", ["read"]), LOCAL)
    world.store.set_fact("login:abc", b"x")
    copy(world.store, target, Rules(), Prices(), lambda done, total: None)
    world.later(1)
    world.tokens.revoke("leaked", LOCAL)
    there = World(target)
    there.at = world.at
    assert there.opened(leaked)
    copy(world.store, target, Rules(), Prices(), lambda done, total: None)
    assert there.opened(leaked) is None
    assert there.opened(kept)
    there.later(1)
    there.tokens.revoke("kept", LOCAL)
    copy(world.store, target, Rules(), Prices(), lambda done, total: None)  # what was said there last stays
    assert there.opened(kept) is None
    assert target.fact("login:abc") is None
    target.close()
