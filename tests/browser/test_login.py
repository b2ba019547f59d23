"""People log in at a real OpenID provider, in a real browser, and see what the rules give them."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from ramify.model.claims import read_rule
from tests.browser.person import Person
from tests.browser.world import World, world
from tests.web.test_oidc import real as real


@pytest.fixture
def vouched(real: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("RAMIFY_OIDC_SECRET", "a secret of the client's")
    rule = read_rule("groups=agents:read:default")
    with world(oidc_issuer=real, oidc_client_id="ramify", oidc_map=(rule,)) as served:
        yield served


def test_somebody_logs_in_by_another_word(vouched: World, person: Person) -> None:
    person.expected = "401"
    vouched.play()
    person.opens(vouched.url)
    person.page.get_by_role("link", name="Continue with 127.0.0.1").click()
    person.page.get_by_role("button", name=re.compile("^ann")).click()
    person.page.wait_for_url(f"{vouched.url}/**")
    person.foreign.clear()  # the provider's own page may load what it likes
    person.complaints.clear()
    expect(person.page.get_by_role("link", name=re.compile("tea shop's site"))).to_be_visible()
    expect(person.page.get_by_text("oidc:ann@example.org")).to_be_visible()
    expect(person.page.get_by_role("link", name="Audit")).to_have_count(0)  # they may read, and no more
    expect(person.page.get_by_text("live", exact=True)).to_be_visible()
    person.button("log out").click()
    expect(person.page.get_by_role("link", name="Continue with 127.0.0.1")).to_be_visible()
