"""Finds the names of the module that are not imported with it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from .._run.run import current_run

_PACKAGE = "svc_reporter"
_MODULES = ("apis", "data_types", "integration", "keras", "lightgbm", "sdk", "util", "xgboost")
"""W&B's modules whose names a script uses as attributes: `wandb.sdk.wandb_run.Run`."""


def look_up(name: str) -> Any:
    """The value of `svc_reporter.<name>`. An unknown public name is a stand-in that does nothing."""
    package = sys.modules[_PACKAGE]
    if name == "run":
        return current_run()
    if name in ("config", "summary"):
        return getattr(importlib.import_module(f"{_PACKAGE}._wandb.calls"), name)()
    actual = package._SAME.get(name, name)
    module = package._LAZY.get(actual)
    if module is not None:
        found = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), actual)
    elif importlib.util.find_spec(f"{_PACKAGE}.{name}") is not None:
        return importlib.import_module(f"{_PACKAGE}.{name}")
    elif name in _MODULES:
        from .alias import submodule

        found = submodule(name)
    else:
        from .._shared.unsupported import instead_of
        from .alias import stand_in

        found = stand_in(name, instead_of("names", name))
    setattr(package, name, found)
    return found
