"""The share menu: what would be in it is seen before the file is there."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.person import Person
from tests.browser.test_saved import opened
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
