"""scikit-learn: each fit of a search or cross-validation becomes a job, with its true duration.

with reporting(run):
    GridSearchCV(model, grid, n_jobs=4).fit(x, y)       # or cross_validate, RandomizedSearchCV, learning_curve, …
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._process.ranks import is_worker_process
from .._run.reporter import Reporter
from .._run.run import Run
from ._models import Models, written
from ._training import Training, open_reporter, simple_params

_MODULES = ("sklearn.model_selection._search", "sklearn.model_selection._validation")


@contextmanager
def reporting(run: Reporter | Run | None = None, *, job_id: str = "fit") -> Iterator[None]:
    """Report the fits that scikit-learn's model_selection does within this block, also in joblib's processes.

    Jobs are `<job_id>-0`, `<job_id>-1`, … in the order in which the fits are handed out; candidate parameters and
    the split are their parameters, scores their final metrics. A fit that raised is a failed job, also where
    `error_score` makes a number of it. Searches must not run in several threads at once within the block.
    """
    reporter = open_reporter(run)
    numbers = itertools.count()
    replaced: list[tuple[Any, Any]] = []
    for name in _MODULES:
        module = importlib.import_module(name)
        original = module.delayed
        replaced.append((module, original))
        module.delayed = _delayed(original, reporter, job_id, numbers)  # type: ignore[attr-defined]  # it is a module's global
    try:
        yield
    finally:
        for module, original in replaced:
            module.delayed = original


def log_model(model: Any, run: Reporter | Run | None = None, *, name: str | None = None, **metadata: Any) -> None:
    """Keep a fitted model, dumped by joblib, as an artifact: `log_model(search.best_estimator_)`.

    Its parameters and `metadata` are the artifact's. A dump runs code when it is loaded: load your own only.
    """
    import joblib

    reporter = open_reporter(run)
    training = Training(reporter, None, "fit", {})
    parameters = simple_params(model.get_params(deep=False)) if hasattr(model, "get_params") else {}
    Models(training, True).keep(
        written("model.joblib", lambda path: joblib.dump(model, path)),
        named=name,
        **{"model": type(model).__name__, "parameters": parameters, **metadata},
    )


def _delayed(original: Any, run: Reporter, job_id: str, numbers: Iterator[int]) -> Callable[[Any], Any]:
    def delayed(function: Any) -> Any:
        name = f"{job_id}-{next(numbers)}"
        run.hand_over(name)
        return original(_Fit(function, run, name))

    return delayed


class _Fit:
    """One fit, called in any process that joblib chooses. The Reporter that is passed with it joins its batch there."""

    def __init__(self, function: Any, run: Reporter, job_id: str) -> None:
        self._function = function
        self._run = run
        self._job_id = job_id

    def __call__(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        job = self._run.job(self._job_id, **_params(estimator, kwargs))
        job.begin()
        try:
            result = self._function(estimator, *args, **kwargs)
        except BaseException as error:
            job.fail(error)
            raise
        scores = result if isinstance(result, dict) else {}
        if scores.get("fit_error"):
            job.fail(str(scores["fit_error"]).strip().splitlines()[-1])
        else:
            job.done(_scores(scores))
        if is_worker_process():
            self._run.flush(2.0)  # joblib ends its processes without a chance to flush
        return result


def _params(estimator: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    params = simple_params(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else {}
    params.update(simple_params(kwargs.get("parameters") or {}))
    for name, key in (("split_progress", "split"), ("candidate_progress", "candidate")):
        progress = kwargs.get(name)
        if progress:
            params[key] = progress[0]
    params.pop("job_id", None)
    return {**params, "model": type(estimator).__name__}


def _scores(result: Mapping[str, Any]) -> dict[str, Any]:
    """`test_score`, or `test_<name>` with several scorers; the same of the training data; fit and score times in s."""
    metrics: dict[str, Any] = {}
    for name in ("test_scores", "train_scores"):
        value = result.get(name)
        kind = name.split("_", 1)[0]
        if isinstance(value, Mapping):
            metrics.update({f"{kind}_{scorer}": score for scorer, score in value.items()})
        elif value is not None:
            metrics[f"{kind}_score"] = value
    for name in ("fit_time", "score_time", "n_test_samples"):
        if result.get(name) is not None:
            metrics[name] = result[name]
    return metrics
