"""LightGBM: `lightgbm.train(..., valid_sets=[...], callbacks=[SvcCallback(run)])`, or a classifier's `fit`."""

from __future__ import annotations

import sys
from typing import Any

from lightgbm.callback import EarlyStopException

from .._run.reporter import Reporter
from .._run.run import Run
from ._models import Models, written
from ._training import Training, named_series


class SvcCallback:
    """Records each boosting round's evaluations as `<data set>/<metric>`; of `lightgbm.cv` the means, and `…-std`.

    LightGBM tells no callback that training is over. The job ends with the last planned round, or with the early
    stop or exception of another callback, which it watches for; with `best_iteration` and `best_score` as metrics.
    On stop it raises LightGBM's own EarlyStopException, which `train` turns into a finished model. `log_model=True`
    keeps the booster as an artifact, up to its best round.
    """

    order = 25
    """Before early_stopping (30), whose exception would keep the last round from being recorded."""
    before_iteration = False

    def __init__(
        self,
        run: Reporter | Run | None = None,
        *,
        project: str | None = None,
        job_id: str = "boost",
        log_model: bool | str = False,
        **reporter: Any,
    ) -> None:
        self._training = Training(run, project, job_id, reporter)
        self._models = Models(self._training, log_model)
        self._model: Any = None
        self._last: dict[str, Any] = {}

    def __call__(self, env: Any) -> None:
        if env.iteration == env.begin_iteration:
            self._model = env.model if self._models.at_end else None
            params = dict(env.params or {})
            params["num_boost_round"] = env.end_iteration - env.begin_iteration
            self._training.begin("lightgbm", params=params)
            self._watch_others(sys._getframe(1).f_locals.get("callbacks_after_iter"))
        results = {(row[0], row[1]): row[2] for row in _rows(env)}
        self._last = named_series(results)
        # In cross-validation a row also has the standard deviation.
        self._last.update({f"{row[0]}/{row[1]}-std": row[4] for row in _rows(env) if row[4:] and row[4] is not None})
        if self._training.epoch(env.iteration, self._last):
            self.end()
            raise EarlyStopException(env.iteration, env.evaluation_result_list)
        if env.iteration == env.end_iteration - 1 and not self._has_others:
            self.end()

    def end(self, failure: BaseException | None = None) -> None:
        model, self._model = self._model, None
        if failure is None and hasattr(model, "model_to_string") and self._training.is_open:
            self._keep(model)
        self._training.end(self._last, failure)
        self._training.close()

    def _keep(self, model: Any) -> None:
        if type(model).__name__ == "CVBooster":  # cross-validation has several models
            return
        best = self._last.get("best_iteration")
        rounds = None if best is None else best + 1
        self._models.keep(
            written("model.txt", lambda path: model.save_model(path, num_iteration=rounds)), best_iteration=best
        )

    def early_stopped(self, stop: EarlyStopException) -> None:
        best: dict[str, Any] = {"best_iteration": stop.best_iteration}
        if stop.best_score:
            best["best_score"] = stop.best_score[0][2]
        self._last = {**self._last, **best}
        self.end()

    _has_others = False

    def _watch_others(self, callbacks: Any) -> None:
        """Wrap the callbacks after this one, to see the exceptions that they raise."""
        self._has_others = False
        if not isinstance(callbacks, list) or self not in callbacks:
            return  # another version of LightGBM: the run's end tells what became of the job
        for at in range(callbacks.index(self) + 1, len(callbacks)):
            last = at == len(callbacks) - 1
            callbacks[at] = _Watched(callbacks[at], self, last)
            self._has_others = True


def _rows(env: Any) -> list[tuple[Any, ...]]:
    """The evaluations of a round, as tuples in every version: data set, metric, value, higher is better, deviation."""
    return [tuple(row) for row in env.evaluation_result_list or []]


class _Watched:
    def __init__(self, callback: Any, ours: SvcCallback, last: bool) -> None:
        self._callback = callback
        self._ours = ours
        self._last = last
        self.order = getattr(callback, "order", 0)

    def __call__(self, env: Any) -> None:
        try:
            self._callback(env)
        except EarlyStopException as stop:
            self._ours.early_stopped(stop)
            raise
        except BaseException as error:
            self._ours.end(error)
            raise
        if self._last and env.iteration == env.end_iteration - 1:
            self._ours.end()
