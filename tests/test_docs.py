"""The documents are true where that can be checked: commands, links between pages, routes, rules, settings."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramify.cli.commands import BY_NAME
from ramify.cli.reference import parser_of
from ramify.model.event import Event
from ramify.model.rules import RULES
from ramify.settings import BY_NAME as SETTINGS
from ramify.web.app import AGENT_CAPTURE, CAPTURE, ROUTES
from ramify.web.route import Route

TOP = Path(__file__).parents[1]
PAGES = sorted(
    [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "src").rglob("*.md")],
    key=str,
)
CODE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(ramify [^`\n]+)`")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:\w+/)*\w+\.py)`")
FORBIDDEN = re.compile(r"\b(?:shared/|TODO|FIXME|XXX|utilize|leverage|seamless\w*|robust\w*|blazing\w*)", re.IGNORECASE)
GENERATED = ("cli.md", "settings.md")


def name_of(page: Path) -> str:
    return str(page.relative_to(TOP))


def commands(page: Path) -> Iterator[str]:
    """What a reader would type: lines of examples, and what stands between backticks."""
    text = page.read_text("utf-8")
    for block in CODE.findall(text):
        for line in block.splitlines():
            if line.strip().startswith("ramify "):
                yield line.partition("#")[0].strip()
    yield from INLINE.findall(CODE.sub("", text))


def words_of(command: str) -> list[str]:
    """Placeholders stand for values: dots are left out, the rest is any text."""
    return [word for word in shlex.split(command)[1:] if word not in ("…", "[OPTIONS]")]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in GENERATED], ids=name_of)
def test_every_command_that_is_shown_exists(page: Path) -> None:
    for command in commands(page):
        name, *words = words_of(command)
        if name == "--version":
            continue
        assert name in BY_NAME, command
        if words:
            parser_of(BY_NAME[name]).read(words)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_another_page_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if not target.startswith(("http:", "https:", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_of_the_source_that_is_named_exists(page: Path) -> None:
    roots = (TOP, TOP / "src" / "ramify", page.parent)
    names = {path.name for path in (TOP / "src").rglob("*.py")}
    for named in FILE.findall(page.read_text("utf-8")):
        found = named in names or any((root / named).exists() for root in roots)
        assert found, named


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_speaks_of_what_a_reader_cannot_see(page: Path) -> None:
    assert FORBIDDEN.findall(page.read_text("utf-8")) == []


def row(route: Route) -> str:
    names = ", ".join(f"`{parameter.name}`" for parameter in route.parameters)
    return f"| `{route.method} {route.path}` | {route.summary} | {names} |"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_in_the_page_on_the_api(route: Route) -> None:
    assert row(route) in (TOP / "docs" / "api.md").read_text("utf-8").splitlines()


def test_the_page_on_the_api_has_no_other_routes() -> None:
    page = (TOP / "docs" / "api.md").read_text("utf-8")
    assert {line for line in page.splitlines() if re.match(r"\| `(?:GET|POST|DELETE|PUT)", line)} == set(map(row, ROUTES))
    assert all(f"`{method} {path}`" in page for method, path in (*CAPTURE, *AGENT_CAPTURE))


def test_every_rule_of_linking_is_explained_to_readers() -> None:
    page = (TOP / "docs" / "linking.md").read_text("utf-8")
    source = "".join(path.read_text("utf-8") for path in (TOP / "src/ramify/linking").glob("*.py"))
    used = {rule for rule in RULES if f'"{rule}"' in source}
    assert used
    assert {rule for rule in used if f"| `{rule}` |" not in page} == set()


def test_every_decision_is_in_the_index() -> None:
    index = (TOP / "docs" / "index.md").read_text("utf-8")
    for page in (TOP / "docs" / "adr").glob("*.md"):
        assert f"(adr/{page.name})" in index
        text = page.read_text("utf-8")
        assert all(part in text for part in ("**Context.**", "**Decision.**", "**Consequences.**", "change our mind.**"))
        assert len(text.splitlines()) < 40


def test_the_events_are_those_of_their_decision() -> None:
    page = (TOP / "docs" / "adr" / "009-events.md").read_text("utf-8")
    assert [event.__name__ for event in Event.__args__ if event.__name__ not in page] == []


def test_every_option_that_a_page_names_exists() -> None:
    known = {
        option for command in BY_NAME.values() for action in parser_of(command)._actions for option in action.option_strings
    }
    named = {name for page in PAGES for name in re.findall(r"`(--[a-z-]+)[ `]", page.read_text("utf-8"))}
    assert named
    assert named - known == set()


def test_every_setting_that_a_page_names_exists() -> None:
    named = {name for page in PAGES for name in re.findall(r"`([a-z]+_(?:limit|window|bytes|tools))`", page.read_text("utf-8"))}
    assert named
    assert named - set(SETTINGS) == set()


def test_the_readme_fits_on_one_screen() -> None:
    assert len((TOP / "README.md").read_text("utf-8").splitlines()) <= 60
