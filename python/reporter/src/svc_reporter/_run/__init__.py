"""`init`, `Run`, `Reporter` and `Job`: what a script calls, and what a run consists of."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "_unpickled":  # pickles of releases up to 0.2.0
        from .run import _unpickled

        return _unpickled
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
