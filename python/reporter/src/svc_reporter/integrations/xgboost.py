"""XGBoost: `xgboost.train(..., evals=[...], callbacks=[SvcCallback(run)])`, or a classifier's `callbacks`."""

from __future__ import annotations

import json
from typing import Any

from xgboost.callback import TrainingCallback

from .._run.reporter import Reporter
from .._run.run import Run
from ._models import Models, written
from ._training import Training, is_training_set, named_series


class SvcCallback(TrainingCallback):
    """Records each boosting round's evaluations as `<data set>/<metric>`; on stop the round is the last.

    The booster's parameters are the job's, and `best_iteration` and `best_score` of an early stop its metrics. Of
    `xgboost.cv` it records the means, and the standard deviations as `<data set>/<metric>-std`. `log_model=True` keeps
    the booster as an artifact.
    """

    def __init__(
        self,
        run: Reporter | Run | None = None,
        *,
        project: str | None = None,
        job_id: str = "boost",
        log_model: bool | str = False,
        **reporter: Any,
    ) -> None:
        super().__init__()
        self._training = Training(run, project, job_id, reporter)
        self._models = Models(self._training, log_model)
        self._last: dict[str, Any] = {}
        self._best_before: dict[str, Any] = {}
        """Of an earlier training that this one continues (`xgb_model=`): the model still has its attributes."""

    def before_training(self, model: Any) -> Any:
        self._last = {}
        self._best_before = _best(model)
        self._training.begin("xgboost", params=_parameters(model))
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: dict[str, dict[str, list[Any]]]) -> bool:
        results: dict[tuple[str, str], float] = {}
        deviations: dict[str, float] = {}
        for data, metrics in evals_log.items():
            for metric, history in metrics.items():
                value = history[-1]
                if isinstance(value, tuple):  # cross-validation
                    value, deviations[f"{data}/{metric}-std"] = value
                results[data, metric] = value
        # Early stopping watches the last evaluation set; the first one, validation_0 of XGBClassifier, often is the
        # training set.
        watched = next((data for data in reversed(evals_log) if not is_training_set(data)), None)
        self._last = {**named_series(results, watched), **deviations}
        return self._training.epoch(epoch, self._last)

    def after_training(self, model: Any) -> Any:
        best = _best(model)
        if self._models.at_end and hasattr(model, "save_model"):  # cross-validation has several models
            self._models.keep(written("model.json", model.save_model), **best)
        self._training.end({**self._last, **(best if best != self._best_before else {})})
        self._training.close()
        return model


def _parameters(model: Any) -> dict[str, Any]:
    """The configuration of the booster; in cross-validation, of the first fold."""
    folds = getattr(model, "cvfolds", None)
    booster = folds[0].bst if folds else model
    try:
        learner = json.loads(booster.save_config())["learner"]
    except Exception:  # another version's form: it costs the parameters only
        return {}
    found: dict[str, Any] = {}
    _collect(learner, found)
    return found


def _collect(part: dict[str, Any], into: dict[str, Any]) -> None:
    for name, value in part.items():
        if isinstance(value, dict):
            _collect(value, into)
        elif isinstance(value, (str, int, float)):
            into.setdefault("objective" if name == "name" and value != "gbtree" else name, _number(value))
        elif name == "metrics" and isinstance(value, list):
            into["eval_metric"] = ", ".join(str(one.get("name")) for one in value if isinstance(one, dict))


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() and "." not in value and "E" not in value.upper() else number


def _best(model: Any) -> dict[str, Any]:
    attribute = getattr(model, "attr", None)
    if not callable(attribute):
        return {}
    best = {name: attribute(name) for name in ("best_iteration", "best_score")}
    return {name: _number(value) for name, value in best.items() if value is not None}
