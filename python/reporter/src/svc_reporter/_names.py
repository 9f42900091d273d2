"""Finds the names of the module that are not imported with it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from . import _run

_MODULES = ("apis", "data_types", "integration", "keras", "lightgbm", "sdk", "util", "xgboost")
"""W&B's modules whose names a script uses as attributes: `wandb.sdk.wandb_run.Run`."""


def look_up(name: str) -> Any:
    """The value of `svc_reporter.<name>`. An unknown public name is a stand-in that does nothing."""
    package = sys.modules[__package__]
    if name == "run":
        return _run.current_run()
    if name in ("config", "summary"):
        return getattr(importlib.import_module("._calls", __package__), name)()
    actual = package._SAME.get(name, name)
    module = package._LAZY.get(actual)
    if module is not None:
        found = getattr(importlib.import_module(f".{module}", __package__), actual)
    elif importlib.util.find_spec(f"{__package__}.{name}") is not None:
        return importlib.import_module(f".{name}", __package__)
    elif name in _MODULES:
        from ._alias import submodule

        found = submodule(name)
    else:
        from ._alias import stand_in
        from ._unsupported import instead_of

        found = stand_in(name, instead_of("names", name))
    setattr(package, name, found)
    return found
