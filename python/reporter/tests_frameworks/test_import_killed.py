"""`svc-reporter import-from`, killed in the middle and run again, on histories that the real tools wrote."""

from __future__ import annotations

import csv
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.kit.real_server import RealServer

STEPS = 70
"""Of each run: more than one request takes (`KILLED`)."""
RUNS = ("first", "second")


def _script(text: str) -> Callable[[Path], str]:
    """Writes a history by a script of its own; returns what the script printed: where the history is."""

    def write(folder: Path) -> str:
        (folder / "script.py").write_text(text)
        env = {**os.environ, "TRACKIO_DIR": str(folder / "trackio")}
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return str(folder / done.stdout.split()[-1])

    return write


WANDB = f"""
import wandb
quiet = wandb.Settings(x_disable_stats=True, console="off", silent=True)
for name in {RUNS}:
    with wandb.init(mode="offline", project="p", name=name, config={{"lr": 0.1}}, tags=["a"], settings=quiet) as run:
        for step in range({STEPS}):
            run.log({{"loss": 1 / (step + 1), "acc": step / {STEPS}}})
        run.log({{"h": wandb.Histogram([1.0, 2.0])}})
        open("m.pt", "w").write(name)
        run.save("m.pt")
print("wandb")
"""

MLFLOW = f"""
import mlflow
from mlflow.entities import Metric
mlflow.set_tracking_uri("sqlite:///mlflow.db")
client = mlflow.MlflowClient()
own = client.create_experiment("p", artifact_location="file://" + __import__("os").getcwd() + "/kept")
for at, name in enumerate({RUNS}):
    run = client.create_run(own, run_name=name, start_time=1_700_000_000_000 + at, tags={{"team": "x"}}).info.run_id
    client.log_param(run, "lr", "0.1")
    for key in ("loss", "acc"):
        values = [Metric(key, 1 / (step + 1), 1_700_000_000_000 + step, step) for step in range({STEPS})]
        client.log_batch(run, metrics=values)
    client.log_text(run, name, "m.txt")
    client.set_terminated(run)
print("mlflow.db")
"""

TENSORBOARD = f"""
from torch.utils.tensorboard import SummaryWriter
for name in {RUNS}:
    with SummaryWriter("logs/" + name) as writer:
        for step in range({STEPS}):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalar("acc", step / {STEPS}, step)
        writer.add_text("note", name, 1)
print("logs")
"""

AIM = f"""
import aim
for name in {RUNS}:
    run = aim.Run(repo=".", log_system_params=False, system_tracking_interval=None, capture_terminal_logs=False)
    run.name = name
    run["lr"] = 0.1
    run.add_tag("a")
    for step in range({STEPS}):
        run.track(1 / (step + 1), name="loss", step=step, context={{"subset": "train"}})
        run.track(step / {STEPS}, name="acc", step=step)
    run.track(aim.Text(name), name="note", step=1)
    run.close()
print(".aim")
"""

TRACKIO = f"""
import trackio
for name in {RUNS}:
    trackio.init(project="p", name=name, config={{"lr": 0.1}})
    for step in range({STEPS}):
        trackio.log({{"loss": 1 / (step + 1), "acc": step / {STEPS}}}, step=step)
    trackio.log({{"note": name}}, step={STEPS})
    trackio.finish()
print("trackio")
"""


def _neptune(folder: Path) -> str:
    """In the exporter's schema; the exporter itself needs the hosted service, which has ended."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    at = datetime(2025, 6, 1, tzinfo=timezone.utc)
    text = ("project_id", "run_id", "attribute_path", "attribute_type", "string_value")
    schema = pa.schema(
        [(name, pa.string()) for name in text]
        + [("step", pa.decimal128(18, 6)), ("timestamp", pa.timestamp("ms", "UTC")), ("float_value", pa.float64())]
        + [("datetime_value", pa.timestamp("ms", "UTC"))]
    )
    for name in RUNS:
        rows: list[dict[str, Any]] = [
            {"attribute_path": "sys/creation_time", "attribute_type": "datetime", "datetime_value": at},
            {"attribute_path": "sys/name", "attribute_type": "string", "string_value": name},
            {"attribute_path": "lr", "attribute_type": "float", "float_value": 0.1},
        ]
        for path in ("loss", "acc"):
            one = {"attribute_path": path, "attribute_type": "float_series"}
            rows += [
                {**one, "step": Decimal(step), "timestamp": at + timedelta(seconds=step), "float_value": step / STEPS}
                for step in range(STEPS)
            ]
        line = {"attribute_path": "monitoring/stdout", "attribute_type": "string_series", "string_value": "a line"}
        rows += [{**line, "step": Decimal(step), "timestamp": at} for step in range(3)]
        table = pa.Table.from_pylist([{"project_id": "t/p", "run_id": name, **row} for row in rows], schema=schema)
        parquet.write_table(table, folder / f"{name}_part_0.parquet")
    return str(folder)


def _csv(folder: Path) -> str:
    for name in RUNS:
        with open(folder / f"{name}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["step", "time", "loss", "acc", "version"])
            out.writerows([step, 1_700_000_000 + step, 1 / (step + 1), step / STEPS, "v1"] for step in range(STEPS))
    return str(folder)


HISTORIES: dict[str, Callable[[Path], str]] = {
    "wandb": _script(WANDB),
    "mlflow": _script(MLFLOW),
    "tensorboard": _script(TENSORBOARD),
    "aim": _script(AIM),
    "trackio": _script(TRACKIO),
    "neptune": _neptune,
    "csv": _csv,
}

KILLED = """
import os, signal, sys
from svc_reporter._cli import main
from svc_reporter._shared.tuning import DEFAULT
from svc_reporter._delivery.uploads import Uploads
from svc_reporter.importing._channel import Channel

left = int(sys.argv.pop(1))
object.__setattr__(DEFAULT, "array_limit", 50)

def counted(method):
    def call(*args):
        global left
        result = method(*args)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call

Channel._send_chunk = counted(Channel._send_chunk)
Uploads.round = counted(Uploads.round)
sys.exit(main(sys.argv[1:]))
"""
"""Runs a command that is killed after so many requests, which the service has answered."""


def _stored(service: RealServer, project: str) -> dict[str, dict[str, Any]]:
    """All that a project has, without the ids and addresses of its runs."""
    found: dict[str, dict[str, Any]] = {}
    for one in service.call("GET", f"/api/batches?project={project}&limit=100")["items"]:
        own = f"/api/batches/{one['id']}"
        run = service.call("GET", own)
        series = service.call("GET", f"{own}/metrics")["series"]
        timed = service.call("GET", f"{own}/metrics?x=wall")["series"]
        media = service.call("GET", f"{own}/media?limit=100")["items"]
        assert run["name"] not in found
        found[run["name"]] = {
            **{key: run[key] for key in ("status", "config", "tags", "started_at", "ended_at", "summary")},
            "counts": {**service.call("GET", f"{own}/stored"), "project": ""},
            "series": {one["key"]: [one["steps"], one["values"]] for one in series},
            "times": {one["key"]: one["times"] for one in timed},
            "media": {one["key"]: [len(one["values"]), one["values"][0]["_type"]] for one in media},
            "files": sorted(
                (file["path"], file["sha256"]) for file in service.call("GET", f"{own}/files?limit=100")["items"]
            ),
            "lines": [line["line"] for line in service.call("GET", f"{own}/log-lines?limit=500")["items"]],
        }
    return found


@pytest.mark.parametrize("source", HISTORIES)
def test_an_import_that_is_killed_and_run_again_stores_all_of_it_once(
    source: str, service: RealServer, imported: Callable[..., str], tmp_path: Path
) -> None:
    """After three requests: in most histories the first run is complete then, and the second one is not."""
    if source == "aim":
        pytest.importorskip("aim", reason="Aim has no wheel for this version of Python")
    place = HISTORIES[source](tmp_path)
    own = secrets.token_hex(3)
    whole, killed = f"{source}-whole-{own}", f"{source}-killed-{own}"
    words = ["import-from", source, place, "--project", killed, "--quiet"]
    done = subprocess.run([sys.executable, "-c", KILLED, "3", *words], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    again, once = imported(source, place, "--project", killed), imported(source, place, "--project", whole)
    assert "differs" not in again + once
    assert [line for line in again.splitlines() if "already" not in line] == once.splitlines()
    stored, expected = _stored(service, killed), _stored(service, whole)
    assert sorted(stored) == sorted(RUNS)
    assert {len(run["series"]["acc"][0]) for run in stored.values()} == {STEPS}
    for name, run in stored.items():
        for key, value in run.items():
            assert (key, value) == (key, expected[name][key])
