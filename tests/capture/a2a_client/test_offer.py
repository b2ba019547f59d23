"""Which of its addresses an agent is asked at."""

from typing import Any

import pytest

from ramify.capture.a2a_client.offer import Offer, best_offer, card_places

AT = "http://127.0.0.1:9000/.well-known/agent-card.json"
HERE = "http://127.0.0.1:9000"


def new(*interfaces: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    return {
        "name": "a",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": version} for url, binding, version in interfaces
        ],
        **more,
    }


def test_json_rpc_is_preferred_and_the_newer_version_where_both_are_offered() -> None:
    card = new((HERE + "/rest", "HTTP+JSON", "1.0"), (HERE + "/old", "JSONRPC", "0.3"), (HERE + "/rpc", "JSONRPC", "1.0"))
    assert best_offer(card, AT) == Offer("1.0", "JSONRPC", HERE + "/rpc")
    assert best_offer(new((HERE, "GRPC", "1.0"), (HERE + "/rest", "HTTP+JSON", "1.0")), AT) == Offer("1.0", "HTTP+JSON", HERE + "/rest")


def test_a_card_of_0_3_names_its_address_and_further_ones() -> None:
    card = {"name": "a", "url": HERE, "preferredTransport": "HTTP+JSON", "protocolVersion": "0.3.0", "capabilities": {"streaming": True}}
    card["additionalInterfaces"] = [{"url": HERE + "/rpc", "transport": "JSONRPC"}]
    offer = best_offer(card, AT)
    assert offer == Offer("0.3", "JSONRPC", HERE + "/rpc", streams=True)
    assert not offer.subscribes
    assert best_offer({"name": "a", "url": HERE}, AT) == Offer("0.3", "JSONRPC", HERE)


@pytest.mark.parametrize("url", ["http://evil.example/rpc", "http://127.0.0.1:9001/", "https://127.0.0.1:9000/", "", "http://[", "file:///etc"])
def test_an_address_elsewhere_is_never_asked(url: str) -> None:
    assert best_offer(new((url, "JSONRPC", "1.0")), AT) is None
    assert best_offer({"name": "a", "url": url}, AT) is None


def test_other_names_of_this_machine_are_reached_by_the_one_that_was_given() -> None:
    assert best_offer(new(("http://0.0.0.0:9000/rpc", "JSONRPC", "1.0")), AT) == Offer("1.0", "JSONRPC", HERE + "/rpc")


def test_a_card_is_looked_for_below_the_address_and_at_the_root_of_its_host() -> None:
    assert card_places(AT) == [AT]
    assert card_places(HERE + "/a2a/planner/") == [
        HERE + "/a2a/planner/.well-known/agent-card.json",
        HERE + "/a2a/planner/.well-known/agent.json",
        HERE + "/.well-known/agent-card.json",
        HERE + "/.well-known/agent.json",
    ]
    assert card_places(HERE) == [HERE + "/.well-known/agent-card.json", HERE + "/.well-known/agent.json"]


@pytest.mark.parametrize("card", [None, [], "x", {}, {"supportedInterfaces": "x", "url": 3}, {"supportedInterfaces": [None, 3, {}]}])
def test_what_is_no_card_offers_nothing(card: Any) -> None:
    assert best_offer(card, AT) is None
