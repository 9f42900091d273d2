"""LightGBM: `lightgbm.train(..., valid_sets=[...], callbacks=[SvcCallback(run)])`, or a classifier's `fit`."""

from __future__ import annotations

from typing import Any

from lightgbm.callback import EarlyStopException

from .._reporter import Reporter
from ._training import Training, named_series


class SvcCallback:
    """Records each boosting round's evaluations as `<data set>/<metric>`.

    LightGBM tells no callback that training is over: the job ends with its last planned round, with the next
    training, or, after an early stop, with the run (or call `end()`). On stop it raises LightGBM's own
    EarlyStopException, which `train` turns into a finished model.
    """

    order = 25
    """Before early_stopping (30), whose exception would keep the last round from being recorded."""
    before_iteration = False

    def __init__(
        self, run: Reporter | None = None, *, project: str | None = None, job_id: str = "boost", **reporter: Any
    ) -> None:
        self._training = Training(run, project, job_id, reporter)
        self._last: dict[str, float] = {}

    def __call__(self, env: Any) -> None:
        if env.iteration == env.begin_iteration:
            params = {name: value for name, value in (env.params or {}).items() if name not in ("model", "dataset")}
            self._training.begin(model="lightgbm", **params)
        results = {(row[0], row[1]): row[2] for row in env.evaluation_result_list or []}
        self._last = named_series(results)
        if self._training.epoch(env.iteration, self._last):
            self.end()
            raise EarlyStopException(env.iteration, env.evaluation_result_list)
        if env.iteration == env.end_iteration - 1:
            self.end()

    def end(self) -> None:
        self._training.end(self._last)
        self._training.close()
