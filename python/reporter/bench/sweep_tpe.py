"""Whether TPE over the service finds what Optuna finds in one process: the same budget, thirty runs each.

    SVC_URL=… SVC_TOKEN=… python bench/sweep_tpe.py PROJECT

Prints the best values of both, and the p-value of a Mann-Whitney test: a small one would say that they differ.
"""

from __future__ import annotations

import importlib
import math
import statistics
import sys
import uuid
from datetime import datetime, timezone
from typing import Any

import optuna

from svc_reporter._sweeps.sweep import Service, Sweep

RUNS, BUDGET = 30, 40
SPACE = {
    "x": {"min": -5.0, "max": 10.0, "distribution": "uniform"},
    "lr": {"min": 1e-5, "max": 1.0, "distribution": "log_uniform_values"},
    "layers": {"min": 1, "max": 8},
    "opt": {"values": ["adam", "sgd", "lion"]},
}


def loss(params: dict[str, Any]) -> float:
    """Best at x = 3, lr = 0.01, 4 layers, adam: 0."""
    penalty = {"adam": 0.0, "sgd": 0.5, "lion": 0.2}[params["opt"]]
    far: float = (params["x"] - 3) ** 2 / 10 + math.log10(params["lr"] / 0.01) ** 2 + (params["layers"] - 4) ** 2 / 5
    return far + penalty


def with_optuna(seed: int) -> float:
    def objective(trial: Any) -> float:
        return loss(
            {
                "x": trial.suggest_float("x", -5, 10),
                "lr": trial.suggest_float("lr", 1e-5, 1, log=True),
                "layers": trial.suggest_int("layers", 1, 8),
                "opt": trial.suggest_categorical("opt", ["adam", "sgd", "lion"]),
            }
        )

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=BUDGET)
    return float(study.best_value)


def with_service(service: Service, project: str) -> float:
    definition = {
        "name": "TPE",
        "method": "tpe",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": SPACE,
        "max_trials": BUDGET,
    }
    sweep = Sweep(service.post(f"/api/projects/{project}/sweeps", definition), service)
    while (trial := sweep.reserve()) is not None:
        common = {
            "schema_version": "1.1",
            "batch_id": sweep.batch_id,
            "job_id": trial.job_id,
            "source": {"project": project},
        }
        for kind, data in (("job_start", trial.params), ("job_done", {"metrics": {"loss": loss(trial.params)}})):
            at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            event = {**common, "event_id": str(uuid.uuid4()), "event_type": kind, "timestamp": at, "data": data}
            service.post("/api/events", event)
    return float(sweep.refresh().document["best"]["value"])


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    service = Service()
    alone = [with_optuna(seed) for seed in range(RUNS)]
    served = [with_service(service, sys.argv[1]) for _ in range(RUNS)]
    for name, values in (("Optuna alone", alone), ("over the service", served)):
        print(f"{name}: median {statistics.median(values):.4f}, from {min(values):.4f} to {max(values):.4f}")
    mannwhitneyu = importlib.import_module("scipy.stats").mannwhitneyu
    print(f"Mann-Whitney p = {mannwhitneyu(alone, served).pvalue:.3f}")


if __name__ == "__main__":
    main()
