"""Copies of a Reporter: pickled, deep-copied, forked, dumped with a fitted model.

A copy travels without connection, threads and queue. Within the process it came from it is the same Reporter.
In a worker process (multiprocessing, joblib, Ray) it joins the batch: it reports jobs, while the batch's start
and end stay its owner's. Anywhere else, a model loaded from a file for instance, it stays silent.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._reporter import Reporter

_TRAVEL = ("multiprocessing.", "concurrent.futures.", "joblib.externals.loky", "loky.", "ray.", "distributed.")
"""Modules that pickle to hand something to another process now, rather than to keep it."""

_here: weakref.WeakValueDictionary[str, Reporter] = weakref.WeakValueDictionary()


def register(run: Reporter) -> None:
    _here[run.batch_id] = run


def reduce(run: Reporter, arguments: dict[str, Any], token: str) -> tuple[Any, ...]:
    """What pickle keeps of a Reporter. The token goes along only to a worker process, never into a file."""
    if token and _is_travelling():
        arguments = {**arguments, "token": token}
    return restore, (arguments, run.host)


def restore(arguments: dict[str, Any], host: str) -> Reporter:
    """The Reporter of this process for that batch, made if there is none."""
    from ._reporter import Reporter
    from ._snapshot import hostname

    known = _here.get(arguments["batch_id"])
    if known is not None and known.is_of_this_process():
        return known
    if host == hostname():
        arguments = {**arguments, "resources_s": 0}  # the owner samples this machine
    run = Reporter(**arguments)
    if not run.is_guest:
        run.disable("it is a copy outside of the run's own processes")
    return run


def joined(run: Reporter) -> Reporter:
    """`run` for use in this process: itself, or in a forked child a Reporter that joins its batch."""
    if run.is_of_this_process():
        return run
    make, (arguments, host) = run.__reduce__()[:2]
    result: Reporter = make({**arguments, "token": run.credential}, host)
    return result


def _is_travelling() -> bool:
    context = sys.modules.get("multiprocessing.context")
    if context is not None and context.get_spawning_popen() is not None:
        return True
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_TRAVEL):
            return True
        frame = frame.f_back
    return False
