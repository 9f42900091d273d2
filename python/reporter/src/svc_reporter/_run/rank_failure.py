"""Adds the error of a rank above 0 to the log of the run that rank 0 reports.

If one rank raises, the others see only a broken connection, and the run ends with that reason. Ranks above 0 report
nothing and do not know the run's id, so rank 0 puts it into the key-value store of torch.distributed. That is no
collective operation: no rank waits for another.
"""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Any

from .._process.failure import reason_of, trace_of
from .._process.ranks import process_group, rank, world_size
from .batch import Batch

_RUN = "svc_reporter/run"
_FAILED = "svc_reporter/failed"
_MOST = 3
"""How many ranks report. After the first failure the others fail too, of the connection to it."""
_CLOSE_S = 3.0


def publish(batch_id: str, job_id: str) -> None:
    """On rank 0: let the other ranks know the run and its newest job. Never raises."""
    try:
        store = _store() if world_size() > 1 else None
        if store is not None:
            store.set(_RUN, json.dumps([batch_id, job_id]))
    except Exception:
        return  # only the errors of other ranks will be missing


def report(reporter: Batch, error: BaseException | None, trace: TracebackType | None) -> None:
    """On a rank above 0: add the error to the log of the run, with its traceback. Never raises."""
    try:
        text = trace_of(error, trace)
        store = _store() if text and rank() > 0 else None
        if store is None or not store.check([_RUN]) or store.add(_FAILED, 1) > _MOST:
            return
        batch_id, job_id = json.loads(store.get(_RUN))
        own = reporter.for_batch(batch_id)
        own.emit_log(job_id, f"rank {rank()} on {own.host} failed: {reason_of(error)}\n{text}", "error", rank=rank())
        own.close(_CLOSE_S)
    except Exception:
        return


def _store() -> Any:
    """The key-value store of the initialised process group; None without one."""
    if process_group() is None:
        return None
    torch: Any = sys.modules["torch"]
    return torch.distributed.distributed_c10d._get_default_store()
