"""The outcome of a `with` block: clean, stopped, or failed and why."""

from __future__ import annotations

from types import TracebackType

from .._shared.errors import StopRequested
from .._shared.redact import redact_text
from .tracebacks import full_trace

_EARLY_ENDS = frozenset(
    {
        "TrialPruned",  # Optuna
        "EarlyStopException",  # LightGBM, and XGBoost before 2.1
        "CancelFitException",  # fastai
        "CancelTrainException",
        "StopTrial",
        "TrialStopped",
    }
)
"""Names of exceptions by which a tuner or early stopping ends a job: it is pruned, not failed."""
STOPPED = "stop_requested"
"""The reason that makes the service call a batch or job `stopped` (contract §4)."""
_REASON_LIMIT = 2_000


def reason_of(error: BaseException | None) -> str | None:
    """The reason of a failure, from the exception; None for a clean end, also by `sys.exit()` or `sys.exit(0)`.

    GeneratorExit is a clean end: the caller left its loop over a generator that contains the `with` block.
    """
    if error is None or isinstance(error, GeneratorExit) or is_early_end(error):
        return None
    if isinstance(error, StopRequested):
        return STOPPED
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return None
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    if text.startswith("\n"):  # mp.spawn of torch: the traceback of the other process, which `trace_of` has in full
        text = text.rstrip().rpartition("\n")[2]
    return redact_text(f"{type(error).__name__}: {text}" if text else type(error).__name__)[:_REASON_LIMIT]


def is_early_end(error: object) -> bool:
    """Whether this is an exception by which a tuner or early stopping ends a job."""
    return isinstance(error, Exception) and any(kind.__name__ in _EARLY_ENDS for kind in type(error).__mro__)


def trace_of(error: BaseException | None, trace: TracebackType | None) -> str | None:
    """The traceback as text; None if there is no error, or it is a clean end, a stop, an exit or Ctrl-C."""
    clean = (StopRequested, SystemExit, KeyboardInterrupt, GeneratorExit)
    if error is None or isinstance(error, clean) or is_early_end(error):
        return None
    return full_trace(error, trace)
