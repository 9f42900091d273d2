"""One job of a batch: a single training, or one member of a sweep."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._failure import reason_of, trace_of
from ._plain import fields, plain

if TYPE_CHECKING:
    from ._reporter import Reporter

_NUMERIC = ("train_loss", "val_loss", "lr", "batch_time_ms")
_NON_FINITE = ("NaN", "Infinity", "-Infinity")


class Job:
    """Made by `run.job(...)`. Use it as a context; without one, call `done()` or `fail()` yourself.

    Nothing here raises into the training, except StopRequested from `epoch`, from `log` and on entering.
    """

    def __init__(self, run: Reporter, job_id: str, params: Mapping[str, Any], *, skipped: bool) -> None:
        self.id = job_id
        self.skipped = skipped
        """Not among SVC_RERUN_JOBS: nothing of it is reported. Guard its work with `run.wants(job_id)`."""
        self._run = run
        self._params = dict(params)
        self._began: float | None = None
        self._ended = False
        self._in_context = False
        self._epochs = 0
        self._metrics: dict[str, Any] = {}

    def __enter__(self) -> Job:
        self._run.check_stop_here()
        self._in_context = True
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in_context = False
        reason = reason_of(error)
        if reason is None:
            self.done()
        else:
            self._end_failed(reason, trace_of(error, trace))

    def begin(self) -> None:
        """Start the job without a context; end it with `done()` or `fail()`. The first epoch does it, too."""
        self._start()

    def epoch(self, epoch: int, **metrics: Any) -> None:
        """Record one epoch: `train_loss`, `val_loss`, `lr`, `batch_time_ms` and any further numbers.

        NaN and infinities are kept. Raises StopRequested, after recording, when somebody asked to stop.
        """
        if not self.skipped and not self._ended:
            self._record(epoch, metrics)
        self._run.check_stop_here()

    def log(self, line: object, level: str | int = "info") -> None:
        """Send a line to the job's log; `level` is a name or a number of the logging module."""
        if not self.skipped:
            self._start()
            self._run.emit_log(self.id, line, level)
        self._run.check_stop_log()

    def done(self, metrics: Mapping[str, Any] | None = None) -> None:
        """Name the final metrics. Inside the job's context the job goes on; the context's end sends them."""
        if metrics is not None:
            try:
                self._metrics.update(fields({str(key): value for key, value in metrics.items()}))
            except Exception as error:
                self._run.voice.say(logging.WARNING, "metrics", f"job {self.id}: final metrics ignored: {error!r}")
        if self._in_context or self._ended or self.skipped:
            return
        self._start()
        self._ended = True
        data: dict[str, Any] = {"elapsed_s": self._elapsed_s(), "train_epochs": self._epochs}
        if self._metrics:
            data["metrics"] = self._metrics
        self._run.emit_job_end("job_done", self, data)

    def fail(self, reason: object = "failed") -> None:
        """End the job as failed, for loops that handle their exceptions themselves."""
        self._end_failed(reason_of(reason) or "failed" if isinstance(reason, BaseException) else str(reason), None)

    def _end_failed(self, reason: str, trace: str | None) -> None:
        if self._ended or self.skipped:
            return
        self._start()
        self._ended = True
        data: dict[str, Any] = {
            "reason": reason,
            "elapsed_s": self._elapsed_s(),
            "train_epochs": self._epochs,
        }
        if trace:
            data["traceback"] = trace
        if self._metrics:
            data["metrics"] = self._metrics
        self._run.emit_job_end("job_failed", self, data)

    def _start(self) -> None:
        if self._began is not None or self.skipped:
            return
        self._began = time.monotonic()
        data = fields(self._params)
        for key in ("model", "dataset"):
            if key in data and not isinstance(data[key], str):
                data[key] = str(data[key])
        self._run.emit_job_start(self, data)

    def _record(self, epoch: int, metrics: dict[str, Any]) -> None:
        if self._began is None:
            self._start()
        try:
            number = _whole(epoch)
        except Exception:
            self._run.voice.say(
                logging.ERROR,
                "epoch",
                f"job {self.id}: an epoch must be a whole number, got {plain(epoch)!r}; dropped",
            )
            return
        data = fields(metrics)
        for key in _NUMERIC:
            value = data.get(key)
            if value is not None and type(value) is not float and type(value) is not int:
                self._mend(data, key, value)
        data["epoch"] = number
        self._epochs += 1
        self._run.emit("job_epoch", self.id, data)

    def _mend(self, data: dict[str, Any], key: str, value: Any) -> None:
        """A field that the schema wants as a number: made one, or left out, rather than losing the epoch."""
        if value in _NON_FINITE:
            return
        try:
            data[key] = plain(float(value))
        except (TypeError, ValueError):
            del data[key]
            self._run.voice.say(logging.WARNING, f"field {key}", f"job {self.id}: {key} is no number; left out")

    def _elapsed_s(self) -> float:
        return round(time.monotonic() - (self._began or time.monotonic()), 3)


def _whole(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        number = float(value.item() if hasattr(value, "item") else value)
        if not number.is_integer():
            raise ValueError("not whole") from None
        return int(number)
