"""Copies of a Reporter: pickled, deep-copied, forked, dumped with a fitted model.

A copy has no connection, threads or queue. In the same process, unpickling returns the original Reporter. In a worker
process (multiprocessing, joblib, Ray) the copy joins the batch: it reports jobs, not the batch's start and end.
Elsewhere, for instance in a model loaded from a file, it reports nothing.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from .batch import Batch

_SENDS_TO_PROCESS = (
    "multiprocessing.",
    "concurrent.futures.",
    "joblib.externals.loky",
    "loky.",
    "ray.",
    "distributed.",
)
"""Modules that pickle objects to send them to another process, not to store them."""

_here: weakref.WeakValueDictionary[str, Batch] = weakref.WeakValueDictionary()


def register(run: Batch) -> None:
    _here[run.batch_id] = run


def known(batch_id: str) -> Any:
    """The `Reporter` of this process that reported the batch last; None if there is none."""
    return _here.get(batch_id)


def is_sent_to_process() -> bool:
    """Whether what is pickled goes to another process. The token must not get into a file."""
    context = sys.modules.get("multiprocessing.context")
    if context is not None and context.get_spawning_popen() is not None:
        return True
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_SENDS_TO_PROCESS):
            return True
        frame = frame.f_back
    return False
