"""Optuna's samplers and pruners over the history of a sweep."""

from __future__ import annotations

import math
from typing import Any

import optuna
import pytest

import svc_reporter as svc
from svc_reporter._sweeps.proposals import Study

SPACE = {
    "x": {"min": -5.0, "max": 5.0, "distribution": "uniform"},
    "lr": {"min": 1e-4, "max": 1.0, "distribution": "log_uniform_values"},
    "layers": {"min": 1, "max": 6},
    "drop": {"min": 0, "max": 0.5, "q": 0.1},
    "opt": {"values": ["adam", "sgd", None]},
    "seed": {"value": 3},
}


def sweep(method: str = "tpe", **more: Any) -> dict[str, Any]:
    metric = {"name": "loss", "goal": "minimize"}
    return {"id": "abc", "method": method, "metric": metric, "parameters": SPACE, "early_stopping": None, **more}


def ended(number: int, params: dict[str, Any], value: float, **more: Any) -> dict[str, Any]:
    return {"number": number, "params": params, "state": "completed", "value": value, **more}


@pytest.mark.parametrize("method", ["tpe", "qmc", "cmaes", "nsga2", "random"])
def test_proposals_are_in_the_space_and_get_better(method: str) -> None:
    study = Study(sweep(method))
    found = []
    for number in range(25):
        params = study.propose()
        assert list(params) == list(SPACE)
        assert -5 <= params["x"] <= 5
        assert 1e-4 <= params["lr"] <= 1
        assert params["layers"] in range(1, 7)
        assert any(math.isclose(params["drop"], n / 10) for n in range(6))
        assert params["opt"] in ("adam", "sgd", None)
        assert params["seed"] == 3
        loss = (params["x"] - 1) ** 2
        found.append(loss)
        study.update([ended(number, params, loss)])
    assert len({round(loss, 9) for loss in found}) > 20
    if method == "tpe":
        assert min(found[10:]) < 1.0


def test_gaussian_processes_propose() -> None:
    study = Study(sweep("gp"))
    for number in range(12):  # the first ten are random
        params = study.propose()
        study.update([ended(number, params, (params["x"] - 1) ** 2)])
    assert -5 <= params["x"] <= 5


@pytest.mark.parametrize(("method", "key"), [("cmaes", "cma:generation"), ("nsga2", "NSGAIISampler:generation")])
def test_a_new_worker_goes_on_with_the_generations_of_the_others(method: str, key: str) -> None:
    first = Study(sweep(method, max_trials=60))
    trials: list[dict[str, Any]] = []
    for number in range(40):
        params = first.propose()
        trials.append(ended(number, params, (params["x"] - 1) ** 2 + math.log10(params["lr"]) ** 2))
        first.update(trials)
    fresh = Study(sweep(method, max_trials=60))
    fresh.update(trials)
    generations = [
        [trial.system_attrs.get(key, 0) for trial in study._study.get_trials() if trial.value is not None]
        for study in (first, fresh)
    ]
    assert generations[0] == generations[1]
    assert max(generations[1]) >= 3


def test_a_running_trial_keeps_others_away_until_it_has_ended() -> None:
    study = Study(sweep())
    first = study.propose()
    study.update([{"number": 0, "params": first, "state": "running", "value": None}])
    study.update([ended(0, first, 1.0), ended(1, study.propose(), float("nan"))])
    states = [trial.state for trial in study._study.get_trials() if trial._trial_id in study._ids.values()]
    assert states == [optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL]


def test_conditions_hold_in_proposals_and_trials_of_an_earlier_space_count_where_they_fit() -> None:
    space = {
        "opt": {"values": ["adam", "sgd"]},
        "momentum": {"min": 0.0, "max": 0.9, "distribution": "uniform", "when": {"opt": ["sgd"]}},
        "nesterov": {"values": [True, False], "when": {"momentum": [0.5]}},
    }
    study = Study({**sweep(), "parameters": space})
    study.update([ended(0, {"opt": "lion", "momentum": 7.0, "old": 1}, 1.0)])
    seen = set()
    for number in range(1, 20):
        params = study.propose()
        assert ("momentum" in params) == (params["opt"] == "sgd")
        assert "nesterov" not in params
        seen.add(params["opt"])
        study.update([ended(number, params, float(number))])
    assert seen == {"adam", "sgd"}


@pytest.mark.parametrize(
    "stopping",
    [
        {"type": "median", "startup_trials": 3, "min_steps": 2},
        {"type": "percentile", "percentile": 50, "startup_trials": 3, "min_steps": 2},
        {"type": "hyperband", "min_iter": 1, "max_iter": 9},
    ],
)
def test_a_trial_that_is_worse_than_the_others_is_given_up(stopping: dict[str, Any]) -> None:
    study = Study(sweep("random", early_stopping=stopping))
    good = [[step, 1.0 / (step + 1)] for step in range(9)]
    study.update([ended(n, study.propose(), 0.1, intermediate=good) for n in range(30)])
    running = range(30, 40)
    study.update([{"number": n, "params": study.propose(), "state": "running", "value": None} for n in running])
    given_up = [
        next((step for step in range(9) if study.is_worse(n, dict.fromkeys(range(step + 1), 9.0))), None)
        for n in running[:-1]
    ]
    if stopping["type"] == "hyperband":
        assert any(step is not None for step in given_up)  # one of its brackets gives up no trial
    else:
        assert set(given_up) == {2}
    assert not study.is_worse(39, dict.fromkeys(range(9), 0.01))
    assert svc.should_stop() is False
