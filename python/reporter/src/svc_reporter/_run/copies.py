"""Copies of a Reporter: pickled, deep-copied, forked, dumped with a fitted model.

A copy has no connection, threads or queue. In the same process, unpickling returns the original Reporter. In a worker
process (multiprocessing, joblib, Ray) the copy joins the batch: it reports jobs, not the batch's start and end.
Elsewhere, for instance in a model loaded from a file, it reports nothing.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reporter import Reporter

_SENDS_TO_PROCESS = (
    "multiprocessing.",
    "concurrent.futures.",
    "joblib.externals.loky",
    "loky.",
    "ray.",
    "distributed.",
)
"""Modules that pickle objects to send them to another process, not to store them."""

_here: weakref.WeakValueDictionary[str, Reporter] = weakref.WeakValueDictionary()


def register(run: Reporter) -> None:
    _here[run.batch_id] = run


def reduce(run: Reporter, arguments: dict[str, Any], token: str) -> tuple[Any, ...]:
    """The pickled state of a Reporter. It contains the token only if it is sent to a worker process."""
    if token and _is_sent_to_process():
        arguments = {**arguments, "token": token}
    return restore, (arguments, run.host)


def restore(arguments: dict[str, Any], host: str) -> Reporter:
    """The Reporter of this process for that batch, created if there is none."""
    from .._capture.snapshot import hostname
    from .reporter import Reporter

    known = _here.get(arguments["batch_id"])
    if known is not None and known.is_of_this_process():
        return known
    if host == hostname():
        arguments = {**arguments, "resources_s": 0}  # the owner samples this machine
    run = Reporter(**arguments)
    run.may_exist = False  # what there is to know came with the copy
    if not run.has_joined:
        run.disable("it is a copy outside of the run's processes")
    return run


def joined(run: Reporter) -> Reporter:
    """The Reporter to use in this process: `run`, or in a forked child a new one that joins its batch."""
    if run.is_of_this_process():
        return run
    make, (arguments, host) = run.__reduce__()[:2]
    result: Reporter = make({**arguments, "token": run.credential}, host)
    return result


def _is_sent_to_process() -> bool:
    context = sys.modules.get("multiprocessing.context")
    if context is not None and context.get_spawning_popen() is not None:
        return True
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_SENDS_TO_PROCESS):
            return True
        frame = frame.f_back
    return False
