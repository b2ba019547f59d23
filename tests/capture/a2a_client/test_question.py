"""What is asked of agents, in both versions and bindings, is what is read back by whoever sees it pass."""

import json

import pytest

from ramify.capture.a2a_client.offer import Binding, Offer, Version
from ramify.capture.a2a_client.peer import path_of
from ramify.capture.a2a_client.question import Said, ask, say
from ramify.protocols.a2a.methods import asked_of
from ramify.protocols.a2a.wire import spoken_of

OFFERS = [Offer(version, binding, "http://h/x") for version in ("1.0", "0.3") for binding in ("JSONRPC", "HTTP+JSON")]  # type: ignore[arg-type]


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: f"{offer.version}-{offer.binding}")
@pytest.mark.parametrize("kind", ["get", "cancel", "subscribe"])
def test_a_question_about_a_task_names_it(offer: Offer, kind: str) -> None:
    question = ask(offer, "1", kind, "a/b c")
    asked = asked_of(path_of(question), json.loads(question.body or b"null"), offer.version)
    assert (asked.method, asked.task) == (kind, "a/b c")
    assert question.is_look == (kind != "cancel")


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: f"{offer.version}-{offer.binding}")
@pytest.mark.parametrize("kind", ["send", "stream"])
def test_what_is_said_goes_on_with_its_task_and_waits_for_nothing(offer: Offer, kind: str) -> None:
    question = say(offer, "1", kind, Said("m1", "blue", task="t", context="c"))
    body = json.loads(question.body)
    asked = asked_of(path_of(question), body, offer.version)
    assert (asked.method, asked.task) == (kind, "t")
    spoken = spoken_of(asked.message, asked.old)
    assert spoken is not None
    assert (spoken.id, spoken.role, spoken.text) == ("m1", "user", "blue")
    waiting = body.get("params", body).get("configuration", {})
    assert waiting == ({} if kind == "stream" else {"returnImmediately": True} if offer.version == "1.0" else {"blocking": False})
    assert not question.is_look


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: f"{offer.version}-{offer.binding}")
def test_a_form_is_answered_by_one_part_of_data(offer: Offer) -> None:
    question = say(offer, "1", "send", Said("m1", data={"amount": 3}, task="t"))
    asked = asked_of(path_of(question), json.loads(question.body), offer.version)
    spoken = spoken_of(asked.message, asked.old)
    assert spoken is not None
    assert [json.loads(part.json) for part in spoken.parts] == [{"data": {"amount": 3}}]


@pytest.mark.parametrize(("version", "binding"), [("1.0", "JSONRPC"), ("1.0", "HTTP+JSON")])
def test_a_tenant_stands_where_its_binding_wants_it(version: Version, binding: Binding) -> None:
    question = ask(Offer(version, binding, "http://h/x", "acme"), "1", "get", "t")
    assert ("/acme/" in question.url) == (binding == "HTTP+JSON")
    assert (b'"tenant":"acme"' in question.body) == (binding == "JSONRPC")
