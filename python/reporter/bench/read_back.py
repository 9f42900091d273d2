"""What reading runs back takes, beside MLflow:

    python -m venv /tmp/bench && /tmp/bench/bin/pip install -r bench/requirements.txt
    PYTHONPATH=src:. /tmp/bench/bin/python bench/read_back.py [--json]

    jobs_frame     50 jobs of 10 parameters and 5 final metrics as a pandas frame, from the real service by HTTP
    search_runs    the same as MLflow's frame, from MLflow's own local database
    wide           metrics_frame(wide=True) of these jobs' points
    long + pivot   the same frame by hand: metrics_frame(), then pandas' pivot

In turns, the least of ROUNDS, which other programs disturb least. Needs a checkout that is built (`npm run build`).
Exits 1 over a limit.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.real_server import RealServer, real_server_process

import svc_reporter as svc
from svc_reporter.query import Api

JOBS = 50
EPOCHS = 100
METRICS = ("train_loss", "val_loss", "lr", "acc", "f1")
ROUNDS = 15
SEARCH_LIMIT = 2.0
"""jobs_frame through search_runs."""
WIDE_LIMIT = 1.05
"""wide through long and pivot."""


def params_of(number: int) -> dict[str, float]:
    return {f"p{at}": number + at / 10 for at in range(10)}


def values_of(number: int, epoch: int) -> dict[str, float]:
    return {metric: at + 1 / (number + epoch + 1) for at, metric in enumerate(METRICS)}


def fill(server: RealServer) -> str:
    with svc.Reporter("read-back", n_total=JOBS, url=server.url, token=server.token, resources_s=0) as run:
        for number in range(JOBS):
            with run.job(f"job{number}", **params_of(number)) as job:
                for epoch in range(EPOCHS):
                    job.epoch(epoch, **values_of(number, epoch))
                job.done(values_of(number, EPOCHS))
            assert run.flush(60)
    return run.batch_id


def fill_mlflow(folder: str) -> Callable[[], Any] | None:
    """MLflow's call; None where it is not installed."""
    try:
        import mlflow
    except ImportError:
        return None
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    experiment = mlflow.create_experiment("read-back", artifact_location=f"file://{folder}/artifacts")
    for number in range(JOBS):
        with mlflow.start_run(experiment_id=experiment):
            mlflow.log_params(params_of(number))
            mlflow.log_metrics(values_of(number, EPOCHS))
    return lambda: mlflow.search_runs([experiment])


def in_turns(*calls: Callable[[], Any]) -> list[float]:
    """Milliseconds of each call, the least."""
    took: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS + 1):
        for at, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            took[at].append((time.perf_counter() - begin) * 1e3)
    return [min(each[1:]) for each in took]


def main() -> int:
    os.environ["SVC_WATCHDOG"] = "0"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["SVC_REPORTER_DIR"] = folder
        search = fill_mlflow(folder)
        service = Path(folder, "service")
        service.mkdir()
        with real_server_process(service) as server:
            batch_id = fill(server)
            api = Api(server.url, server.session)
            index = ["batch_id", "job_id", "step"]

            def wide() -> Any:
                return api.metrics_frame(batch_id, wide=True)

            def pivot() -> Any:
                frame = api.metrics_frame(batch_id).pivot(index=index, columns="key", values="value")
                return frame.reset_index().rename_axis(columns=None)

            assert len(api.jobs_frame(batch_id)) == JOBS
            assert wide().equals(pivot())
            found = dict(zip(("wide", "long + pivot"), in_turns(wide, pivot), strict=True))
            calls = [lambda: api.jobs_frame(batch_id), *([search] if search else [])]
            found.update(zip(("jobs_frame", "search_runs"), in_turns(*calls), strict=False))
    over = []
    if found["wide"] > found["long + pivot"] * WIDE_LIMIT:
        over.append(f"wide takes {found['wide'] / found['long + pivot']:.2f} times long + pivot, limit {WIDE_LIMIT}")
    if search and found["jobs_frame"] > found["search_runs"] * SEARCH_LIMIT:
        over.append(
            f"jobs_frame takes {found['jobs_frame'] / found['search_runs']:.2f} times search_runs, limit {SEARCH_LIMIT}"
        )
    if "--json" in sys.argv[1:]:
        print(json.dumps({"ms": found, "over": over}))
        return int(bool(over))
    for name, took_ms in found.items():
        print(f"{name:<16}{took_ms:>10.1f} ms")
    if search is None:
        print("search_runs       MLflow is not installed")
    print("\n" + ("\n".join(over) if over else "within the limits"))
    return int(bool(over))


if __name__ == "__main__":
    raise SystemExit(main())
