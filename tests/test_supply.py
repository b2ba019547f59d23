"""What is installed is what was looked at: pinned with hashes, licences known, a wheel that comes out the same again."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from supply.licences import BUILD_ONLY, PINNED, page
from supply.wheel import built_twice, digest

TOP = Path(__file__).parents[1]
LOCKS = sorted((TOP / "requirements").glob("*.txt"))
FREE = re.compile(r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Unlicense|0BSD|Zlib", re.IGNORECASE)


def pinned(name: str) -> dict[str, str]:
    return {package: version for package, version, _ in PINNED.findall((TOP / "requirements" / name).read_text("utf-8"))}


def plain(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return found[0].lower().replace("_", "-")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_is_pinned_with_hashes_and_no_place_is_named(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert "://" not in text
    for line in text.splitlines():
        assert PINNED.match(line) or re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line), line
    for package in re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in package


def test_the_locks_hold_what_the_project_asks_for_and_agree() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    groups = project["dependency-groups"]
    run, dev = pinned("run.txt"), pinned("dev.txt")
    assert {plain(each) for each in (*project["project"]["dependencies"], *groups["build"], *groups["page"])} <= set(run)
    assert {plain(each) for each in groups["dev"] if isinstance(each, str)} <= set(dev)
    assert {plain(each) for each in groups["supply"]} <= set(pinned("supply.txt"))
    assert {plain(each) for each in groups["fuzz"]} <= set(pinned("fuzz.txt"))
    assert {name: dev.get(name) for name in run} == run


def rows(text: str) -> dict[str, str]:
    cells = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    return {name.strip().lower().replace("_", "-"): terms.strip() for _, name, terms, _ in cells if name.strip() != "package"}


def test_the_page_on_licences_says_what_the_packages_say_and_all_may_be_passed_on() -> None:
    written = rows((TOP / "docs" / "licences.md").read_text("utf-8"))
    assert set(written) == set(pinned("run.txt")) - BUILD_ONLY
    assert rows(page()).items() <= written.items()  # what another Python does not need is not installed there
    assert {name: terms for name, terms in written.items() if not FREE.search(terms)} == {}


@pytest.mark.skipif(
    find_spec("hatchling") is None or not (TOP / "src/ramify/web/static/index.html").exists(), reason="needs hatchling and the built page"
)
def test_a_wheel_built_elsewhere_and_later_is_the_same_bytes(tmp_path: Path) -> None:
    first, again = built_twice(tmp_path)
    assert digest(first) == digest(again)
