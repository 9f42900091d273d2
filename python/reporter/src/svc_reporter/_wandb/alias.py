"""`svc-reporter run-as-wandb`: `import wandb` is this package in a process and its children.

A folder in front of PYTHONPATH has a package `wandb` that puts svc_reporter into its place, and the metadata of a
distribution, because libraries ask for its version. Submodules of W&B (`wandb.sdk.wandb_run`) are made at their import:
they have the names of this package, and stand-ins for all others.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .._shared.unsupported import Nothing, instead_of, say_unsupported

FOLDER = Path(__file__).with_name("as_wandb")
_NAME = "wandb"
_PACKAGE = "svc_reporter"
_SAME = {"errors": "errors", "plot": "plot", "apis.public": "query", "errors.errors": "errors"}
"""Submodules of W&B that are modules of this package."""
_PACKAGES = ("apis", "integration", "sdk")
"""Modules of W&B that have modules."""
_CLASSES = {
    "keras": ("keras", {"WandbCallback": "SvcCallback", "WandbMetricsLogger": "SvcCallback"}),
    "xgboost": ("xgboost", {"WandbCallback": "SvcCallback", "wandb_callback": "SvcCallback"}),
    "lightgbm": ("lightgbm", {"wandb_callback": "SvcCallback"}),
}
"""W&B's callbacks, by their module: ours, which report to the open run."""


def run_as_wandb(command: Sequence[str]) -> int:
    """Run a script or a program in which `import wandb` is this package. On POSIX it replaces this process."""
    words = list(command)
    if words[0].endswith(".py") or words[0] in ("-m", "-c"):
        words.insert(0, sys.executable)
    path = [str(FOLDER), *(part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path))}
    try:
        if os.name == "posix":
            os.execvpe(words[0], words, env)
        return subprocess.call(words, env=env)
    except OSError as error:
        say_unsupported(f"run-as-wandb {words[0]}", f"it cannot be started: {error}")
        return 127


def install() -> None:
    """Make `wandb` this package, in this process."""
    sys.modules[_NAME] = sys.modules[_PACKAGE]
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def submodule(name: str) -> ModuleType:
    """The stand-in of W&B's module `wandb.<name>`, for instance `keras` or `sdk.wandb_run`."""
    found = sys.modules.get(f"{_NAME}.{name}")
    return _StandIn(f"{_NAME}.{name}") if found is None else found


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, _path: Any, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{_NAME}."):
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        same = _SAME.get(module.__name__.partition(".")[2])
        if same is not None:
            sys.modules[module.__name__] = importlib.import_module(f"{_PACKAGE}.{same}")


class _StandIn(ModuleType):
    """A submodule of W&B: names of this package, else stand-ins."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"Stands in for {name}.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = self._inner(name) or _found(self.__name__.partition(".")[2], name)
        setattr(self, name, found)
        return found

    def _inner(self, name: str) -> _StandIn | None:
        """A module of a module, as in `wandb.sdk.wandb_run.Run`."""
        parts = self.__name__.split(".")
        is_package = parts[1] in _PACKAGES and len(parts) == 2
        return _StandIn(f"{self.__name__}.{name}") if is_package and name.islower() else None

    def __call__(self, *_args: Any, **_more: Any) -> Any:
        return stand_in(f"{self.__name__}()", "")


def _found(module: str, name: str) -> Any:
    parts = module.split(".")
    if parts[0] == "integration":
        parts = parts[1:]
    ours, names = _CLASSES.get(parts[0] if parts else "", ("", {}))
    if name in names:
        integration = importlib.import_module(f"{_PACKAGE}.integrations.{ours}")
        return getattr(integration, names[name])
    package = sys.modules[_PACKAGE]
    if name in package._LAZY or name in package._SAME or name in package.__all__:
        return getattr(package, name)
    return stand_in(f"{_NAME}.{module}.{name}", instead_of("names", name))


def stand_in(what: str, instead: str) -> Any:
    """A stand-in for a name of W&B: a class if it has the name of one, so that `isinstance` works."""
    name = what.rpartition(".")[2]
    if name.endswith(("Error", "Exception")):
        from ..errors import Error

        return Error  # for `except`
    if not name[:1].isupper():
        say_unsupported(what, instead)
        return Nothing(what)

    def init(self: Nothing, *_args: Any, **_more: Any) -> None:
        Nothing.__init__(self, what)
        say_unsupported(what, instead)

    return type(name, (Nothing,), {"__init__": init, "__reduce__": lambda _self: (Nothing, (what,))})
