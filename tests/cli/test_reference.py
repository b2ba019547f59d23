"""Pages that are written from the code are up to date."""

from pathlib import Path

import pytest

from ramify.cli.commands import COMMANDS
from ramify.cli.reference import PAGES, commands_page, settings_page
from ramify.settings import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "run: python -m ramify.cli.reference"


def test_every_command_and_setting_is_documented() -> None:
    assert all(f"### `ramify {command.name}" in commands_page() for command in COMMANDS)
    assert all(f"`{setting.variable}`" in settings_page() for setting in SETTINGS)
