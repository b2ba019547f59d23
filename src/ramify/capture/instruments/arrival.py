"""Modules that a program may import later: told of when they are there, never imported from here."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Tell = Callable[[ModuleType], None]


class Arrivals(MetaPathFinder):
    """Stands first among the finders and finds nothing by itself: it only listens when a module was executed."""

    def __init__(self) -> None:
        self._wanted: dict[str, list[Tell]] = {}

    def want(self, name: str, tell: Tell) -> None:
        """Now, if it is there already; `tell` must not raise."""
        module = sys.modules.get(name)
        if module is not None and not is_loading(module):
            tell(module)
            return
        self._wanted.setdefault(name, []).append(tell)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        self._wanted.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._wanted:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._listen(spec)
                return spec
        return None

    def _listen(self, spec: ModuleSpec) -> None:
        """The loader stays what it is, for those who look at it; only this instance's method is another one."""
        execute = getattr(spec.loader, "exec_module", None)
        if execute is None:
            return

        def listened(module: ModuleType) -> None:
            execute(module)
            for tell in self._wanted.pop(spec.name, ()):
                tell(module)

        try:
            spec.loader.exec_module = listened  # type: ignore[union-attr, method-assign]
        except AttributeError:  # one of the interpreter's own, which takes no attributes
            return


def is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
