"""Optuna: `study.optimize(objective, callbacks=[SvcCallback(run)])`."""

from __future__ import annotations

from typing import Any

import optuna

from .._run.reporter import Reporter
from .._run.run import Run
from ._training import open_reporter


class SvcCallback:
    """Each finished trial is a job `trial-<number>`, with its own start, end and duration.

    Its parameters are the trial's, its points the intermediate values (`value` by step), its final metrics the
    objective's values and numeric user attributes. A pruned trial is a pruned job; a trial that raised (with
    `catch=`) is failed. When a user presses stop, the study stops after the trials under way.
    """

    def __init__(self, run: Reporter | Run | None = None) -> None:
        self._run = open_reporter(run)

    def __call__(self, study: Any, trial: Any) -> None:
        states = optuna.trial.TrialState
        job = self._run.job(f"trial-{trial.number}", **{**trial.params, "trial": trial.number})
        values = list(trial.values or [])
        metrics: dict[str, Any] = {"value": values[0]} if len(values) == 1 else {}
        metrics.update({f"value_{at}": value for at, value in enumerate(values) if len(values) > 1})
        metrics.update({k: v for k, v in trial.user_attrs.items() if isinstance(v, (int, float))})
        failure = None
        if trial.state == states.FAIL:
            failure = str(trial.system_attrs.get("fail_reason") or "the trial failed")
        job.record_finished(
            trial.datetime_start.timestamp(),
            trial.datetime_complete.timestamp(),
            [(step, {"value": value}) for step, value in sorted(trial.intermediate_values.items())],
            metrics,
            failure=failure,
            pruned=trial.state == states.PRUNED,
        )
        if self._run.stop_requested:
            self._run.honour_stop()
            study.stop()
