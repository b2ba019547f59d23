"""The share menu: what would be in it is seen before the file is there."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.person import Person
from tests.browser.test_pages import AXE
from tests.browser.test_saved import opened, saved
from tests.browser.world import World


def test_a_person_looks_leaves_something_out_and_saves(told: World, person: Person, tmp_path: Path) -> None:
    run = told.served.questions.conversations()["items"][0]
    person.opens(f"{told.url}/conversation/{run['id']}")
    person.button("export…").click()
    dialog = person.page.get_by_role("dialog", name="export")
    expect(dialog.get_by_text("requests and answers as they were on the wire").first).to_be_visible()
    seen = dialog.get_by_role("region", name="what would be in it")
    expect(seen).to_contain_text("model calls")
    expect(seen).to_contain_text("Nothing had to be redacted")
    dialog.get_by_role("checkbox", name="with what tools gave back").uncheck()
    expect(seen.get_by_text("what tools gave back left out")).to_be_visible()
    with person.page.expect_download() as download:
        dialog.get_by_role("button", name="Save the file").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == f"ramify-{run['id']}.html"
    expect(dialog).to_have_count(0)
    browser = person.page.context.browser
    assert browser is not None
    with opened(browser, file) as page:
        expect(page.get_by_text("a saved run, without what tools gave back")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text(run["title"][:30])


def test_each_format_says_what_it_holds(told: World, person: Person) -> None:
    run = told.served.questions.tasks(roots=True)["items"][0]
    person.opens(f"{told.url}/task/{run['id']}")
    person.button("export…").click()
    dialog = person.page.get_by_role("dialog", name="export")
    for word, holds in {"Markdown": "prompts, answers and reasoning", "JSONL": "everything that was seen", "OTLP": "what was said", "Parquet": "a table for each view"}.items():
        dialog.get_by_role("radio", name=word).check()
        expect(dialog.get_by_role("region", name="what would be in it")).to_contain_text(holds)
    person.presses("Escape")
    expect(dialog).to_have_count(0)


def test_nobody_is_shut_out(told: World, person: Person, tmp_path: Path) -> None:
    run = told.served.questions.conversations()["items"][0]
    person.opens(f"{told.url}/conversation/{run['id']}")
    person.button("export…").click()
    expect(person.page.get_by_role("region", name="what would be in it")).to_be_visible()
    assert complaints(person.page) == []
    browser = person.page.context.browser
    assert browser is not None
    with opened(browser, saved(told.served, run["id"], tmp_path)) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.get_by_role("tab", name="Tree", exact=True).click()
        assert complaints(page) == []


def complaints(page: Page) -> list[str]:
    """What axe finds serious. Our policy lets no script in, so it is evaluated from outside."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"] if one["impact"] in ("serious", "critical")]
