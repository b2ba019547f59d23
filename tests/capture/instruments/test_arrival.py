"""Libraries that are imported after `instrument`: told of once they are there, and otherwise as they would be."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ramify.capture.instruments.arrival import Arrivals


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = tmp_path / "later_library"
    package.mkdir()
    (package / "__init__.py").write_text("from later_library.client import Client\n")
    (package / "client.py").write_text("class Client:\n    '''There.'''\n")
    (package / "broken.py").write_text("raise ValueError('broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.startswith("later_library")]:
        del sys.modules[name]


def test_a_module_is_told_of_when_it_was_executed_and_only_then(library: Path) -> None:
    arrivals, told = Arrivals(), []
    arrivals.want("later_library.client", lambda module: told.append(module.Client.__doc__))
    try:
        assert told == []
        assert "later_library" not in sys.modules
        module = importlib.import_module("later_library")
        assert told == ["There."]
        importlib.import_module("later_library.client")
        assert told == ["There."]
        loader = module.Client.__module__ and sys.modules["later_library.client"].__loader__
        assert loader.get_source("later_library.client").startswith("class Client")  # type: ignore[union-attr]
    finally:
        arrivals.stop()
    assert arrivals not in sys.meta_path


def test_a_module_that_is_there_already_is_told_of_at_once(library: Path) -> None:
    importlib.import_module("later_library")
    told: list[ModuleType] = []
    arrivals = Arrivals()
    arrivals.want("later_library.client", told.append)
    assert told == [sys.modules["later_library.client"]]
    assert arrivals not in sys.meta_path


def test_a_module_that_is_broken_or_not_there_says_so_itself(library: Path) -> None:
    arrivals, told = Arrivals(), []
    for name in ("later_library.broken", "later_library.missing", "no_such_library"):
        arrivals.want(name, told.append)
    try:
        with pytest.raises(ValueError, match="broken"):
            importlib.import_module("later_library.broken")
        for name in ("later_library.missing", "no_such_library"):
            with pytest.raises(ModuleNotFoundError):
                importlib.import_module(name)
    finally:
        arrivals.stop()
    assert told == []


def test_after_the_end_nobody_is_told(library: Path) -> None:
    arrivals, told = Arrivals(), []
    arrivals.want("later_library.client", told.append)
    arrivals.stop()
    importlib.import_module("later_library")
    assert told == []
