"""A person answers what an agent asks, with a form or in words, and cancels what should not go on."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.person import Person
from tests.browser.scripted_agent import ScriptedAgent, scripted_agent
from tests.browser.world import World, world

SCHEMA = {
    "type": "object", "title": "Loan", "required": ["amount"],
    "properties": {"amount": {"type": "number", "minimum": 1}, "asset": {"type": "string", "enum": ["USDC", "ETH"]}},
}  # fmt: skip


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    with scripted_agent() as made:
        yield made


@pytest.fixture
def asked(agent: ScriptedAgent) -> Iterator[World]:
    with world(a2a={"planner": agent.url}) as server:
        yield server


def begin(server: World) -> str:
    """A client asks the agent by way of the server; the task that comes of it."""
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Plan my savings"}]}
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": said}}
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    with urllib.request.urlopen(urllib.request.Request(f"{server.url}/a2a/planner/", json.dumps(body).encode(), headers), timeout=10) as answer:
        assert answer.status == 200
        answer.read()
    server.settle()
    return str(server.served.questions.task("a2a:task:planner/job")["id"])


def test_a_form_of_the_agents_own_schema_is_filled_in_and_sent(agent: ScriptedAgent, asked: World, person: Person) -> None:
    agent.question["metadata"] = {"schema": SCHEMA, "mimeType": "application/json"}
    person.opens(f"{asked.url}/task/{begin(asked)}")
    form = person.page.get_by_role("region", name="answer").get_by_role("form", name="Loan")
    form.get_by_role("button", name="Send").click()
    expect(form).to_contain_text("is needed")
    assert len(agent.heard) == 1
    form.get_by_label("amount").fill("12.5")
    form.get_by_label("asset").select_option("ETH")
    form.get_by_role("button", name="Send").click()
    expect(person.page.get_by_role("region", name="answer")).to_have_count(0)
    sent = agent.heard[1]
    assert (sent["taskId"], sent["contextId"], sent["parts"][0]["data"]) == ("job", "ctx", {"amount": 12.5, "asset": "ETH"})
    told = person.page.get_by_role("article", name="human said").last
    expect(told).to_contain_text("amount: 12.5")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("working")


def test_without_a_form_any_words_will_do(agent: ScriptedAgent, asked: World, person: Person) -> None:
    person.opens(f"{asked.url}/task/{begin(asked)}")
    expect(person.page.get_by_role("article", name="the agent said")).to_contain_text("Which amount?")
    box = person.page.get_by_label("your answer")
    expect(person.button("Send")).to_be_disabled()
    box.fill("a little, <b>please</b>")
    person.button("Send").click()
    expect(box).to_have_count(0)
    assert agent.heard[1]["parts"][0]["text"] == "a little, <b>please</b>"
    expect(person.page.get_by_role("article", name="human said").last).to_contain_text("a little, <b>please</b>")


def test_an_answer_that_somebody_else_gave_takes_the_question_away(agent: ScriptedAgent, asked: World, browser: Browser) -> None:
    with Person.at(browser) as one, Person.at(browser) as other:
        task = begin(asked)
        for person in (one, other):
            person.opens(f"{asked.url}/task/{task}")
            person.page.get_by_label("your answer").fill("mine")
        one.button("Send").click()
        expect(other.page.get_by_label("your answer")).to_have_count(0)
    assert len(agent.heard) == 2


def test_a_login_shows_where_and_takes_no_secret(agent: ScriptedAgent, asked: World, person: Person) -> None:
    agent.state = "AUTH_REQUIRED"
    agent.question["parts"] = [{"text": "Log in at https://login.example/start, not at javascript:alert(1)"}]
    person.opens(f"{asked.url}/task/{begin(asked)}")
    login = person.page.get_by_role("region", name="login")
    expect(login.get_by_role("link")).to_have_attribute("href", "https://login.example/start")
    expect(login.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")
    expect(person.page.get_by_label("your answer")).to_have_count(0)


def test_an_agent_that_is_away_is_said_to_be_and_what_was_typed_stays(agent: ScriptedAgent, asked: World, person: Person) -> None:
    person.expected = "502"
    person.opens(f"{asked.url}/task/{begin(asked)}")
    agent.away = True
    person.page.get_by_label("your answer").fill("mine")
    person.button("Send").click()
    expect(person.page.get_by_role("alert")).to_be_visible()
    expect(person.page.get_by_label("your answer")).to_have_value("mine")


def test_canceling_asks_first_and_says_what_came_of_it(agent: ScriptedAgent, asked: World, person: Person) -> None:
    person.opens(f"{asked.url}/task/{begin(asked)}")
    person.button("cancel…").click()
    dialog = person.page.get_by_role("dialog")
    expect(dialog).to_contain_text("The agents decide")
    dialog.get_by_role("button", name="Let it work").click()
    assert agent.state == "INPUT_REQUIRED"
    person.button("cancel…").click()
    dialog.get_by_role("button", name="Ask to cancel").click()
    expect(dialog).to_contain_text("planner: canceled")
    dialog.get_by_role("button", name="Close").click()
    assert agent.state == "CANCELED"
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("canceled")
    expect(person.button("cancel…")).to_have_count(0)
