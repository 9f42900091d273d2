"""XGBoost: `xgboost.train(..., evals=[...], callbacks=[SvcCallback(run)])`, or a classifier's `callbacks`."""

from __future__ import annotations

from typing import Any

from xgboost.callback import TrainingCallback

from .._reporter import Reporter
from ._training import Training, named_series


class SvcCallback(TrainingCallback):
    """Records each boosting round's evaluations as `<data set>/<metric>`; on stop the round is the last."""

    def __init__(
        self, run: Reporter | None = None, *, project: str | None = None, job_id: str = "boost", **reporter: Any
    ) -> None:
        super().__init__()
        self._training = Training(run, project, job_id, reporter)
        self._last: dict[str, float] = {}

    def before_training(self, model: Any) -> Any:
        self._last = {}
        self._training.begin(model="xgboost")
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: dict[str, dict[str, list[Any]]]) -> bool:
        results: dict[tuple[str, str], float] = {}
        for data, metrics in evals_log.items():
            for metric, history in metrics.items():
                value = history[-1]
                results[data, metric] = value[0] if isinstance(value, tuple) else value  # cv: (mean, deviation)
        self._last = named_series(results)
        return self._training.epoch(epoch, self._last)

    def after_training(self, model: Any) -> Any:
        self._training.end(self._last)
        self._training.close()
        return model
