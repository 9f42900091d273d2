"""What the integrations share: the run and job of one training, and stopping it gracefully."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._errors import StopRequested
from .._job import Job
from .._ranks import any_rank
from .._reporter import Reporter

_NAMES = {"loss": "train_loss", "eval_loss": "val_loss", "learning_rate": "lr"}
_LOSSES = ("loss", "rmse", "rmsle", "mae", "mape", "mse", "l1", "l2", "error", "merror", "deviance", "entropy")


class Training:
    """Opens a run if it was given none, and one job in it; every call may come on any rank."""

    def __init__(self, run: Reporter | None, project: str | None, job_id: str, reporter: Mapping[str, Any]) -> None:
        if run is None and project is None:
            raise TypeError("give run= (an open Reporter) or project=")
        self._owned = Reporter(project or "", **reporter) if run is None else None
        self.run: Reporter = run or self._owned  # type: ignore[assignment]  # one of them is there
        self._job_id = job_id
        self._job: Job | None = None

    def begin(self, **params: Any) -> None:
        """A second begin, without an end between, ends the first training's job."""
        self.end()
        self._job = self.run.job(self._job_id, **params)
        self._job.begin()

    def epoch(self, number: int, metrics: Mapping[str, Any], agree: Callable[[bool], bool] = any_rank) -> bool:
        """Record; True when training should end. Every rank must call it at the same points."""
        if self._job is not None:
            try:
                self._job.epoch(number, **{_NAMES.get(name, name): value for name, value in metrics.items()})
            except StopRequested:
                pass  # told by the return value, which libraries turn into an early end
        return self.should_stop(agree)

    def should_stop(self, agree: Callable[[bool], bool] = any_rank) -> bool:
        """Whether any rank was asked to stop; every rank must call it at the same points."""
        if agree(self.run.stop_requested):
            self.run.honour_stop()
            return True
        return False

    def end(self, metrics: Mapping[str, Any] | None = None, failure: BaseException | None = None) -> None:
        job, self._job = self._job, None
        if job is not None:
            if self.run.stop_honoured:
                job.fail(StopRequested(self.run.batch_id))
            elif failure is not None:
                job.fail(failure)
            else:
                job.done(metrics)

    def close(self) -> None:
        """End the run too, if it was opened here."""
        self.end()
        if self._owned is not None:
            self._owned.close()


def named_series(results: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Boosting results by (data set, metric) → series `valid/auc`; the first losses also as the usual names."""
    series: dict[str, float] = {}
    for (data, metric), value in results.items():
        series[f"{data}/{metric}"] = value
        if any(metric == loss or metric.endswith(("loss", loss)) for loss in _LOSSES):
            usual = "train_loss" if data.lower().startswith(("train", "learn")) else "val_loss"
            series.setdefault(usual, value)
    return series
