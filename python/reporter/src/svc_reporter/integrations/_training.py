"""Shared code of the integrations: the run and job of one training, its parameters, and stopping it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .._capture.config import plain_config
from .._process.ranks import PacedAgreement, any_rank
from .._run.arguments import details as details_of
from .._run.job import Job
from .._run.reporter import Reporter, joined
from .._run.run import Run, current_run
from .._run.status import print_start
from .._shared.errors import StopRequested
from .._shared.plain import entries_of, plain_entries

_LOSSES = ("loss", "rmse", "rmsle", "mae", "mape", "mse", "l1", "l2", "error", "merror", "deviance", "entropy")
_RESERVED = ("model", "dataset")
"""Parameters that the service reads as text."""
NOT_ENDED = "ended without its end"
_MAX_NAMES = 10_000


class OpenedRun:
    """A run that an integration opens: `name`, `group`, `notes` and `quiet` as in `init`, the rest as in `Reporter`."""

    def __init__(self, project: str, arguments: Mapping[str, Any]) -> None:
        given = dict(arguments)
        self._quiet = bool(given.pop("quiet", False))
        details = details_of(given.pop("name", None), given.pop("group", None), given.pop("notes", None))
        self.reporter = Reporter(project, **given)
        self.reporter.start_extras = details
        self.reporter.says_start = not self._quiet
        self._name: str | None = details.get("name")

    def print_start(self) -> None:
        """Print the address of the run, once, in the process that reports it."""
        if not self._quiet and self.reporter.is_of_this_process() and not self.reporter._disabled:
            self._quiet = True
            title = f"run {self._name or self.reporter.batch_id}"
            print_start(title, self.reporter._settings, self.reporter.url)


class Training:
    """One job in a given run, the run of `init`, or a run that it opens. All methods may be called on any rank."""

    def __init__(
        self, run: Reporter | Run | None, project: str | None, job_id: str, reporter: Mapping[str, Any]
    ) -> None:
        if run is None and project is None:
            run = current_run()
        self._opened = OpenedRun(project, reporter) if run is None and project is not None else None
        self._owned = None if self._opened is None else self._opened.reporter
        self.run = self._owned or open_reporter(run)
        self.given = run or self.run
        """The object that a library returns to its user as the tracker."""
        self._config: Mapping[str, Any] = run.config if isinstance(run, Run) else {}
        """The configuration of the run; the parameters of its jobs contain it."""
        self._job_id = job_id
        self._copy = ""
        """Suffix of the job ids of a copy of this callback: several fits of one search report at the same time."""
        self._job: Job | None = None
        self._last_job: Job | None = None
        self._borrowed: Reporter | None = None
        self._last_at: dict[str, int] = {}
        """By series of the current job, or of the last one: its highest step so far."""
        self._paced = PacedAgreement()

    def __deepcopy__(self, _memo: dict[int, Any]) -> Training:
        return _copied(self.run, self._job_id, self._config)

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self.run, self._job_id, dict(self._config))

    @property
    def job_id(self) -> str:
        """Of the newest job."""
        return self._job_id if self._last_job is None else self._last_job.id

    @property
    def is_open(self) -> bool:
        return self._job is not None

    def begin(self, model: str | None = None, /, *, job_id: str | None = None, params: Mapping[str, Any]) -> None:
        """Start a job. If the last one is still open, its training raised, and it ends as failed."""
        if self._job is not None:
            self._end_unheard()
        if self._opened is not None:
            self._opened.print_start()
        if not self.run.is_of_this_process():  # a forked rank
            self.run = self._borrowed = joined(self.run)
        given = {**plain_config(self._config), **params}
        known = {str(name): value for name, value in given.items() if str(name) not in _RESERVED}
        if model is not None:
            known["model"] = model
        self._last_at = {}
        self._job = self._last_job = self.run.job((job_id or self._job_id) + self._copy, **known)
        self._job.at_run_end = self._end_unheard
        self._job.begin()

    def epoch(self, number: int, metrics: Mapping[str, Any], agree: Callable[[bool], bool] | None = None) -> bool:
        """Record; True when training should end. Every rank must call it at the same points."""
        self.record(number, metrics)
        return self.should_stop(agree)

    def record(self, number: int, metrics: Mapping[str, Any]) -> None:
        """Record a row of the current training, or of the last one (a later evaluation)."""
        if self._job is None:
            self.amend(number, metrics, metrics)
            return
        self._note(number, metrics)
        try:
            self._job.epoch(number, **metrics)
        except StopRequested:
            pass  # should_stop returns it, and the library stops early

    def record_new(self, number: int, metrics: Mapping[str, Any]) -> None:
        """Record the values of series that have none at this step or later: the others are of a later evaluation."""
        if self._job is None:
            self.amend(number, metrics, metrics)
        elif row := self._new_at(number, metrics):
            self.record(number, row)

    def amend(self, number: int | None, points: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
        """Add points and final metrics after the end of the training.

        A step that has a value keeps it: a later evaluation may be of another model, such as the best one.
        """
        job = self._last_job
        if job is None:
            return
        if number is not None:
            points = self._new_at(number, points)
            self._note(number, points)
        if self._owned is not None and self.run is self._owned and self._owned.is_closed:
            self.run = self._borrowed = self._owned.reopen()
            job.move_to(self.run)
        job.amend(number, points, metrics)

    def _new_at(self, number: int, metrics: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in metrics.items() if number > self._last_at.get(name, number - 1)}

    def _note(self, number: int, metrics: Mapping[str, Any]) -> None:
        for name in self._new_at(number, metrics):
            if name in self._last_at or len(self._last_at) < _MAX_NAMES:
                self._last_at[name] = number

    def should_stop(self, agree: Callable[[bool], bool] | None = None) -> bool:
        """Whether a stop was requested on any rank; every rank must call it at the same points."""
        if (agree or any_rank)(self.run.stop_requested):
            self.run.honour_stop()
            return True
        return False

    def should_stop_soon(self) -> bool:
        """The same for a call in every step: only some calls are a collective operation."""
        return self.should_stop(self._paced)

    def end(self, metrics: Mapping[str, Any] | None = None, failure: BaseException | None = None) -> None:
        job, self._job = self._job, None
        if job is not None:
            if self.run.stop_honoured:
                job.fail(StopRequested(self.run.batch_id))
            elif failure is not None:
                job.fail(failure)
            else:
                job.done(metrics)

    def _end_unheard(self) -> None:
        """At the run's end: end a job as failed whose training raised, even if the script caught the exception."""
        job, self._job = self._job, None
        if job is not None:
            seen = sys.exc_info()[1] or getattr(sys, "last_value", None)
            if self.run.stop_honoured:
                job.fail(StopRequested(self.run.batch_id))
            else:
                job.fail(seen if seen is not None else NOT_ENDED)

    def close(self) -> None:
        """End the run too, if it was opened here."""
        self.end()
        if self._borrowed is not None:
            self._borrowed.close()
            self._borrowed = None
        if self._owned is not None:
            self._owned.close()


def open_reporter(run: Reporter | Run | None) -> Reporter:
    """The Reporter of a run, by default of that of `init`. Raises TypeError if there is none."""
    found = run or current_run()
    if found is None:
        raise TypeError("give run= (what init made, or an open Reporter), or call init before")
    return found.reporter if isinstance(found, Run) else found


def _copied(run: Reporter, job_id: str, config: Mapping[str, Any]) -> Training:
    """A copied or pickled callback: its fits are jobs of their own."""
    global _copies
    _copies += 1
    training = Training(run, None, job_id, {})
    training._config = config
    training._copy = f"-{os.getpid()}-{_copies}"
    return training


_copies = 0


def named_series(results: Mapping[tuple[str, str], float], validation: str | None = None) -> dict[str, float]:
    """Boosting results by (data set, metric) → series `valid/auc`; the first losses also as the usual names.

    `val_loss` is of the data set `validation`, by default of the first one that is not the training's.
    """
    series: dict[str, float] = {}
    for (data, metric), value in results.items():
        series[f"{data}/{metric}"] = value
        if any(metric == loss or metric.endswith(("loss", loss)) for loss in _LOSSES):
            if is_training_set(data):
                series.setdefault("train_loss", value)
            elif validation in (None, data):
                series.setdefault("val_loss", value)
    return series


def is_training_set(name: str) -> bool:
    return name.lower().startswith(("train", "learn"))


def simple_params(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON data, without None and callables."""
    entries = entries_of(values) or {}
    return plain_entries({name: value for name, value in entries.items() if value is not None and not callable(value)})
