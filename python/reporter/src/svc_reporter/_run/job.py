"""One job of a batch: a single training, or one member of a sweep."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from .._capture.axes import STEP_RANGE, whole
from .._capture.metric_values import MetricValues
from .._process.failure import is_early_end, reason_of, trace_of
from .._shared.plain import entries_of, fields, plain, text_of
from .._shared.signals import postponed, raise_if_by_signal, recording, take_effect
from .batch import Batch


class Job:
    """Created by `run.job(...)`. Use it in a `with` statement, or call `done()`, `prune()` or `fail()` at its end.

    A `with` block that optuna.TrialPruned leaves, or the stop exception of another tuner, ends the job as pruned.

    Its methods raise only StopRequested: `epoch`, `log` and entering the `with` statement.
    """

    def __init__(self, run: Batch, job_id: str, params: Mapping[str, Any], *, skipped: bool) -> None:
        self.id = job_id
        self.skipped = skipped
        """True if a rerun leaves this job out; it reports nothing. Check `run.wants(job_id)` to skip its work."""
        self._run = run
        self._params = dict(params)
        self._began: float | None = None
        self._ended = False
        self._lock = threading.RLock()
        """The thread of the console capture may start the job."""
        self._in_context = False
        self._epochs = 0
        self._metrics: dict[str, Any] = {}
        self._values = MetricValues(job_id, run.messages)
        self._sent_end: dict[str, Any] | None = None
        self.at_run_end: Callable[[], None] | None = None
        """Called at the run's end if the job is still open, before it ends like the run."""

    def __copy__(self) -> Job:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Job:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        began_s = None if self._began is None else time.monotonic() - self._began
        return _restore, (self._run, self.id, self._params, self.skipped, began_s, self._ended)

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
        if is_early_end(error):
            self.prune()
        elif reason is None:
            self.done()
        else:
            self._end_failed(reason, trace_of(error, trace))

    def begin(self) -> None:
        """Start the job without a `with` statement; end it with `done()` or `fail()`. The first epoch starts it too."""
        self._start()

    if TYPE_CHECKING:

        @overload
        def epoch(self, epoch: int, /, **metrics: Any) -> None: ...
        @overload
        def epoch(self, /, *, epoch: int, **metrics: Any) -> None: ...

    def epoch(self, /, *numbers: Any, **metrics: Any) -> None:
        """Record the metrics of one epoch: `train_loss`, `val_loss`, `lr`, `batch_time_ms` and any others.

        The epoch is the positional argument or `epoch`; with both, `epoch` is a metric (as in `**row`). Values may be
        int, float, bool (as 0 or 1), enums of them, and scalars of NumPy and torch; NaN and infinities are kept. Other
        values are stored but not charted, as a log message says. Raises StopRequested, after recording, if a
        stop was requested.
        """
        epoch = numbers[0] if numbers else metrics.pop("epoch", None)
        if self._ended:
            self._warn_ended("an epoch")
        elif not self.skipped:
            self._record(epoch, metrics)
            if postponed:
                take_effect()
        self._run.check_stop_here()

    def log(self, line: object, level: str | int = "info") -> None:
        """Send a line to the job's log; `level` as in the logging module. Raises StopRequested once if requested."""
        if self._ended:
            self._warn_ended("a log line")
        if not self.skipped:
            self._start()
            self._run.emit_log(self.id, line, level)
        self._run.check_stop_log()

    def done(self, metrics: Mapping[str, Any] | None = None) -> None:
        """Set the final metrics, and end the job as done. Inside a `with` statement the job ends with it, not here."""
        if metrics is not None:
            self._metrics.update(fields(entries_of(metrics) or {}))
        if self._in_context or self._ended or self.skipped:
            return
        self._run.uninterrupted(self._end_done)

    def _end_done(self, pruned: bool = False) -> None:
        if self._ended:
            return
        self._start()
        self._ended = True
        data: dict[str, Any] = {"elapsed_s": self._elapsed_s(), "train_epochs": self._epochs}
        if pruned:
            data["pruned"] = True
        if self._metrics:
            data["metrics"] = dict(self._metrics)
        if not pruned:
            self._sent_end = data
        self._run.emit_job_end("job_done", self, data)

    def prune(self, metrics: Mapping[str, Any] | None = None) -> None:
        """End the job as done and pruned: other jobs of the search are better."""
        if self._ended or self.skipped:
            return
        self._metrics.update(fields(entries_of(metrics) or {}))
        self._run.uninterrupted(lambda: self._end_done(pruned=True))

    def amend(self, epoch: int | None, points: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
        """Add points of an epoch and final metrics to a job that has ended as done, as of a later evaluation.

        The job's end is sent again with all final metrics; its duration does not change.
        """
        if not self._ended:
            if points and epoch is not None:
                self._record(epoch, dict(points))
            self._metrics.update(fields(dict(metrics)))
            return
        if self.skipped or self._sent_end is None:
            return
        if points and epoch is not None:
            self._emit_epoch(epoch, dict(points))
        self._metrics.update(fields(dict(metrics)))
        self._sent_end = {**self._sent_end, "train_epochs": self._epochs, "metrics": dict(self._metrics)}
        self._run.emit("job_done", self.id, self._sent_end)

    def record_finished(
        self,
        began: float,
        ended: float,
        points: Iterable[tuple[int, Mapping[str, Any]]],
        metrics: Mapping[str, Any],
        *,
        failure: str | None = None,
        pruned: bool = False,
    ) -> None:
        """Report a job that has ended already: its start, `points` by epoch, and its end. Times in Unix seconds."""
        if self.skipped or self._ended or self._began is not None:
            return
        self._began, self._ended = time.monotonic(), True
        begin_ms, end_ms = int(began * 1000), int(ended * 1000)
        self._run.emit_finished_job_start(self.id, fields(self._params), begin_ms)
        for epoch, values in points:
            self._run.emit("job_epoch", self.id, {**self._values.of(values, epoch), "epoch": int(epoch)}, end_ms)
            self._epochs += 1
        data: dict[str, Any] = {"elapsed_s": round(ended - began, 3), "train_epochs": self._epochs}
        if metrics:
            data["metrics"] = fields(dict(metrics))
        if failure is not None:
            data["reason"] = failure
        elif pruned:
            data["pruned"] = True
        self._run.emit_job_end("job_done" if failure is None else "job_failed", self, data, end_ms)

    def move_to(self, run: Batch) -> None:
        """Continue with another Reporter of the same batch."""
        self._run = run

    def end_with_run(self, failure: str | None) -> None:
        """At the run's end: end this job if it is still open, as done or with `failure`."""
        if failure is None and self.at_run_end is not None:
            self.at_run_end()
        if failure is None:
            self.done()
        else:
            self.fail(failure)

    def fail(self, reason: object = "failed") -> None:
        """End the job as failed; `reason` is text or an exception. For code that handles exceptions itself.

        An exception by which a tuner ends a trial (optuna.TrialPruned) prunes it.
        """
        if is_early_end(reason):
            self.prune()
            return
        self._end_failed(reason_of(reason) or "failed" if isinstance(reason, BaseException) else text_of(reason), None)

    def _end_failed(self, reason: str, trace: str | None) -> None:
        if self._ended or self.skipped:
            return

        def end() -> None:
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

        self._run.uninterrupted(end)

    def _start(self) -> None:
        """Report the job's start, unless it has started."""
        if self._began is None and not self.skipped:
            self._run.uninterrupted(self._start_once)

    def _start_once(self) -> None:
        with self._lock:
            if self._began is not None:
                return
            self._began = time.monotonic()
        data = fields(self._params)
        for key in ("model", "dataset"):
            if key in data and not isinstance(data[key], str):
                data[key] = _as_text(data[key])
        gpus = self._run.environment_extras.get("gpu_names")
        if gpus:
            # A parameter of that name takes precedence.
            data.setdefault("gpu_count", len(gpus))
        self._run.emit_job_start(self, data)

    def _warn_ended(self, what: str) -> None:
        self._run.messages.log_once(
            logging.WARNING, f"ended {self.id}", f"job {self.id}: {what} came after the job's end and is not reported"
        )

    @recording
    def _record(self, epoch: Any, metrics: dict[str, Any]) -> None:
        if self._began is None:
            self._start()
        self._emit_epoch(epoch, metrics)

    def record_checked(self, epoch: int, row: dict[str, Any]) -> None:
        """Record a row of finite numbers with valid names. Takes ownership of `row`."""
        row["epoch"] = epoch
        self._run.emit("job_epoch", self.id, row)
        self._epochs += 1

    def _emit_epoch(self, epoch: Any, metrics: dict[str, Any]) -> None:
        number = None
        try:
            number = whole(float(epoch) if isinstance(epoch, str) else epoch)
        except Exception as error:
            raise_if_by_signal(error)
        if number is None:
            self._run.messages.log(
                logging.ERROR,
                "epoch",
                f"job {self.id}: an epoch must be a whole number {STEP_RANGE}, "
                f"got {plain(epoch)!r}; the epoch is dropped",
            )
            self._run.count_lost()
            return
        data = self._values.of(metrics, number)
        if self._values.media:
            media, self._values.media = self._values.media, {}
            self._run.files.add_media(self.id, number, media)
            if not data:
                return
        data["epoch"] = number
        self._run.emit("job_epoch", self.id, data)
        self._epochs += 1

    def _elapsed_s(self) -> float:
        return round(time.monotonic() - (self._began or time.monotonic()), 3)


def _restore(
    run: Batch, job_id: str, params: Mapping[str, Any], skipped: bool, began_s: float | None, ended: bool
) -> Job:
    """The copy of a pickled job. If it had started, it continues; the original process ends it."""
    job = Job(run, job_id, params, skipped=skipped)
    job._began = None if began_s is None else time.monotonic() - began_s
    job._ended = ended
    return job


def _as_text(value: Any) -> str:
    """The value as text; a dictionary or list as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else text_of(value)
