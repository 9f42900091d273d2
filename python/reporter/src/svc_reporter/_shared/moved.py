"""Modules by their names up to 0.2.0, which pickles name: a model that was dumped with a callback still loads."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_PACKAGE = "svc_reporter"
_NOW = {
    "_artifact": "_run.artifact",
    "_calls": "_wandb.calls",
    "_copies": "_run.reporter",
    "_errors": "_shared.errors",
    "_job": "_run.job",
    "_media": "_capture.media",
    "_ranks": "_process.ranks",
    "_unsupported": "_shared.unsupported",
}
"""`_run` and `_delivery` are folders now, and answer for themselves."""


class _Moved(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python and its tools ask every module for
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        now = _NOW[self.__name__.rpartition(".")[2]]
        return getattr(importlib.import_module(f"{_PACKAGE}.{now}"), name)


def keep_names() -> None:
    for name in _NOW:
        sys.modules[f"{_PACKAGE}.{name}"] = _Moved(f"{_PACKAGE}.{name}")
