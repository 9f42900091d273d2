"""`svc-reporter import-from` on histories that the real tools wrote, against the real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.real_server import RealServer
from tests.kit.wait import until

Import = Callable[..., str]


def _runs(service: RealServer, project: str) -> dict[str, dict[str, Any]]:
    found = service.call("GET", f"/api/batches?project={project}&limit=100")["items"]
    return {one["name"]: service.call("GET", f"/api/batches/{one['id']}") for one in found}


def _series(service: RealServer, batch_id: str) -> dict[str, list[tuple[int, Any]]]:
    found = service.call("GET", f"/api/batches/{batch_id}/metrics")["series"]
    return {one["key"]: list(zip(one["steps"], one["values"], strict=True)) for one in found}


def _media(service: RealServer, batch_id: str) -> dict[str, list[dict[str, Any]]]:
    found = service.call("GET", f"/api/batches/{batch_id}/media?limit=100")["items"]
    return {one["key"]: one["values"] for one in found}


def _files(service: RealServer, batch_id: str) -> set[str]:
    found = service.call("GET", f"/api/batches/{batch_id}/files?limit=500")["items"]
    return {one["path"] for one in found if not one["path"].startswith("media/")}


WANDB = """
import sys
import numpy as np, wandb
config = {"lr": 0.1, "v": "007", "opt": {"name": "adam"}}
quiet = wandb.Settings(x_disable_stats=True)
with wandb.init(mode="offline", project="of-wandb", name="first", config=config, tags=["a", "b"], notes="some notes",
                group="g", settings=quiet) as run:
    print("a printed line")
    for i in range(4):
        row = {"loss": 1 / (i + 1), "acc": {"top1": i / 10}}
        if i == 2:
            row |= {"img": wandb.Image(np.zeros((8, 8, 3), np.uint8), caption="c"), "h": wandb.Histogram([1.0, 2.0])}
            row |= {"t": wandb.Table(columns=["a", "b"], data=[[1, "x"], [2, "y"]])}
            row |= {"nan": float("nan"), "word": "text"}
        run.log(row)
    run.config.update({"late": 1})
    open("m.pt", "wb").write(b"x" * 1000)
    run.save("m.pt")
    made = wandb.Artifact("model", "model", metadata={"k": 1})
    made.add_file("m.pt")
    run.log_artifact(made, aliases=["best"])
wandb.init(mode="offline", project="of-wandb", name="bad").log({"x": 1})
sys.exit(3)
"""


def test_offline_runs_of_wandb(service: RealServer, imported: Import, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(WANDB)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "differs" not in imported("wandb", "wandb")
    found = _runs(service, "of-wandb")
    assert {name: run["status"] for name, run in found.items()} == {"first": "completed", "bad": "failed"}
    first = found["first"]
    assert first["config"] == {"lr": 0.1, "v": "007", "opt": {"name": "adam"}, "late": 1}
    assert (sorted(first["tags"]), first["notes"], first["group"]) == (["a", "b"], "some notes", "g")
    series = _series(service, first["id"])
    assert series["loss"] == [(i, 1 / (i + 1)) for i in range(4)]
    assert series["acc/top1"] == [(i, i / 10) for i in range(4)]
    assert series["nan"] == [(2, "NaN")]
    media = _media(service, first["id"])
    assert {key: values[0]["_type"] for key, values in media.items()} == {
        "img": "image",
        "h": "histogram",
        "t": "table",
        "word": "text",
    }
    assert media["img"][0]["caption"] == "c"
    assert {"m.pt", "output.log", "requirements.txt"} <= _files(service, first["id"])
    lines = service.call("GET", f"/api/batches/{first['id']}/log-lines?limit=100")["items"]
    assert "a printed line" in [line["line"] for line in lines]
    model = service.call("GET", "/api/projects/of-wandb/artifacts/model/best")
    assert (model["metadata"], [one["path"] for one in model["files"]]) == ({"k": 1}, ["m.pt"])
    assert "there already: 2" in imported("wandb", "wandb")
    damaged = next((tmp_path / "wandb").glob("offline-*/*.wandb"))
    damaged.write_bytes(damaged.read_bytes()[:-5])
    assert "runs                 2" in imported("wandb", "wandb", "--project", "cut")
    assert sorted(run["status"] for run in _runs(service, "cut").values())[1] == "running"  # cut off, not failed


def _mlflow_history(folder: Path, uri: str) -> None:
    import mlflow

    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient()
    own = client.create_experiment("of mlflow", artifact_location=(folder / "artifacts").as_uri())
    with mlflow.start_run(experiment_id=own, run_name="base", tags={"team": "x"}, description="the notes"):
        mlflow.log_params({"lr": "1.10", "id": "007", "big": "1_000", "n": 5, "f": 0.5})
        for step in range(3):
            mlflow.log_metrics({"loss": 1 / (step + 1), "acc": step / 3}, step=step)
        for value in (3.0, 1.0, 2.0):
            mlflow.log_metric("without step", value)
        mlflow.log_metric("nan", float("nan"), step=2**40)
        mlflow.log_text("hello", "notes/a.txt")
        with mlflow.start_run(experiment_id=own, run_name="child", nested=True):
            mlflow.log_metric("x", 1.0)
    with pytest.raises(RuntimeError), mlflow.start_run(experiment_id=own, run_name="bad"):
        raise RuntimeError
    client.log_metric(client.create_run(own, run_name="going on").info.run_id, "loss", 1.0)
    client.set_terminated(client.create_run(own, run_name="killed").info.run_id, "KILLED")


def test_a_tracking_store_of_mlflow(
    service: RealServer, imported: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    place = tmp_path / "mlruns"
    _mlflow_history(tmp_path, place.as_uri())
    project = "of-mlflow"
    assert "differs" not in imported("mlflow", place, "--project", project)
    found = _runs(service, project)
    assert {name: run["status"] for name, run in found.items()} == {
        "base": "completed",
        "child": "completed",
        "bad": "failed",
        "going on": "running",
        "killed": "stopped",
    }
    base = found["base"]
    assert base["config"] == {"lr": "1.10", "id": "007", "big": "1_000", "n": 5, "f": 0.5}
    assert (base["tags"], base["notes"], base["group"], found["child"]["group"]) == (
        ["team=x"],
        "the notes",
        "base",
        "base",
    )
    series = _series(service, base["id"])
    assert series["loss"] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert series["without step"] == [(0, 3.0), (1, 1.0), (2, 2.0)]
    assert series["nan"] == [(2**40, "NaN")]
    assert _files(service, base["id"]) == {"notes/a.txt"}


def test_event_files_of_tensorboard(service: RealServer, imported: Import, tmp_path: Path) -> None:
    import numpy as np
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path / "logs" / "run1"))
    for step in range(5):
        writer.add_scalar("loss", 1 / (step + 1), step, walltime=1_700_000_000 + step)
        writer.add_scalar("acc/top1", step / 4, step, walltime=1_700_000_000 + step)
    writer.add_scalar("loss", 9.0, 2)
    writer.add_text("note", "hello", 1)
    writer.add_image("img", np.zeros((3, 8, 8), np.float32), 2)
    writer.add_histogram("w", np.arange(1_000.0), 3)
    writer.add_audio("sound", np.zeros((1, 800), np.float32), 1, sample_rate=8_000)
    writer.add_hparams({"lr": 0.5, "opt": "adam", "b": True}, {"hp/acc": 0.75})
    writer.close()
    assert "differs" not in imported("tensorboard", "logs", "--project", "of-tb")
    found = _runs(service, "of-tb")
    run, [of_hparams] = found["run1"], [one for name, one in found.items() if name != "run1"]
    assert {one["status"] for one in found.values()} == {"completed"}
    assert run["started_at"].startswith("2023-11-14T22:13:20")
    assert of_hparams["config"] == {"lr": 0.5, "opt": "adam", "b": True}
    assert of_hparams["group"] == "run1"
    series = _series(service, run["id"])
    assert [step for step, _ in series["loss"]] == list(range(5))
    assert (series["loss"][2], series["loss~1"]) == ((2, 9.0), [(2, float(np.float32(1 / 3)))])
    kinds = {key: values[0]["_type"] for key, values in _media(service, run["id"]).items()}
    assert kinds == {"note": "text", "img": "image", "w": "histogram", "sound": "audio"}
    assert "there already" in imported("tensorboard", "logs", "--project", "of-tb")
    file = next((tmp_path / "logs" / "run1").glob("*tfevents*"))
    content = bytearray(file.read_bytes())
    content[content.index(b"acc/top1") + 3] ^= 1
    file.write_bytes(bytes(content))
    said = imported("tensorboard", "logs", "--project", "damaged", status=1)
    assert "records that could not be read or sent: 1" in said
    assert len(_series(service, _runs(service, "damaged")["run1"]["id"])["acc/top1"]) == 4


def test_a_growing_folder_is_followed_until_it_ends(
    service: RealServer, imported: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.utils.tensorboard import SummaryWriter

    from svc_reporter.importing import _command
    from svc_reporter.importing._tfrecord import frames

    writer = SummaryWriter(str(tmp_path / "logs"), flush_secs=1)
    pauses: list[float] = []

    def written() -> int:
        writer.flush()
        [file] = (tmp_path / "logs").glob("*tfevents*")
        with open(file, "rb") as opened:
            return sum(1 for _ in frames(opened)) - 1  # without that of the version

    writer.add_scalar("loss", 1.0, 0)
    until(lambda: written() == 1)

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt
        writer.add_scalar("loss", 0.5, len(pauses))
        until(lambda: written() == 1 + len(pauses))

    monkeypatch.setattr(_command, "_pause", pause)
    assert "points               3" in imported("tensorboard", "logs", "--project", "followed", "--follow")
    writer.close()
    [run] = _runs(service, "followed").values()
    assert (run["status"], len(_series(service, run["id"])["loss"])) == ("running", 3)
    imported("tensorboard", "logs", "--project", "followed")
    assert next(iter(_runs(service, "followed").values()))["status"] == "completed"


def test_files_of_comma_separated_values(service: RealServer, imported: Import, tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({"step": range(600), "loss": [1 / (n + 1) for n in range(600)], "version": "v1"})
    frame.to_csv(tmp_path / "base.csv", index=False)
    assert "differs" not in imported("csv", tmp_path / "base.csv", "--project", "of-csv")
    run = _runs(service, "of-csv")["base"]
    assert (run["status"], run["config"]) == ("completed", {"version": "v1"})
    assert _series(service, run["id"])["loss"] == [(n, 1 / (n + 1)) for n in range(600)]


def test_databases_of_trackio(
    service: RealServer, imported: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
import numpy as np, trackio
trackio.init(project="tproj", name="run a", config={"lr": 0.1, "v": "007"}, group="g")
for step in range(3):
    trackio.log({"loss": 1 / (step + 1), "acc": {"top1": step / 4}}, step=step)
trackio.log({"img": trackio.Image(np.zeros((8, 8, 3), np.uint8), caption="c"), "word": "text"}, step=5)
trackio.finish()
"""
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    (tmp_path / "script.py").write_text(script)
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, check=True)
    assert "differs" not in imported("trackio", "trackio", "--project", "of-trackio")
    run = _runs(service, "of-trackio")["run a"]
    assert (run["config"], run["group"], run["status"]) == ({"lr": 0.1, "v": "007"}, "g", "completed")
    assert _series(service, run["id"])["acc/top1"] == [(0, 0.0), (1, 0.25), (2, 0.5)]
    assert sorted(_media(service, run["id"])) == ["img", "word"]


def test_parquet_of_the_exporter_of_neptune(service: RealServer, imported: Import, tmp_path: Path) -> None:
    """In the exporter's schema; the exporter itself needs the hosted service, which has ended."""
    from datetime import datetime, timezone
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as parquet

    at = datetime(2025, 6, 1, tzinfo=timezone.utc)
    rows: list[dict[str, Any]] = [
        {"attribute_path": "sys/creation_time", "attribute_type": "datetime", "datetime_value": at},
        {"attribute_path": "sys/name", "attribute_type": "string", "string_value": "base"},
        {"attribute_path": "sys/tags", "attribute_type": "string_set", "string_set_value": ["a", "b"]},
        {"attribute_path": "params/lr", "attribute_type": "float", "float_value": 0.1},
        {"attribute_path": "params/id", "attribute_type": "string", "string_value": "007"},
        {"attribute_path": "data/table", "attribute_type": "file", "file_value": {"path": "p/table.csv"}},
    ]
    for step in range(3):
        one = {"attribute_path": "loss", "attribute_type": "float_series", "float_value": 1 / (step + 1)}
        half = {"attribute_path": "half", "attribute_type": "float_series", "float_value": step / 2}
        rows.append({**one, "step": Decimal(step), "timestamp": at})
        rows.append({**half, "step": Decimal(step) / 2, "timestamp": at})
    histogram = {"type": "COUNTING", "edges": [0.0, 1.0, 2.0], "values": [3.0, 4.0]}
    more = {"step": Decimal(1), "timestamp": at}
    rows.append({"attribute_path": "w", "attribute_type": "histogram_series", "histogram_value": histogram, **more})
    line = {"attribute_path": "monitoring/stdout", "attribute_type": "string_series", "string_value": "a line"}
    rows.append({**line, **more})
    text = ("project_id", "run_id", "attribute_path", "attribute_type", "string_value")
    numbers = pa.list_(pa.float64())
    schema = pa.schema(
        [(name, pa.string()) for name in text]
        + [("step", pa.decimal128(18, 6)), ("timestamp", pa.timestamp("ms", "UTC")), ("int_value", pa.int64())]
        + [("float_value", pa.float64()), ("bool_value", pa.bool_()), ("datetime_value", pa.timestamp("ms", "UTC"))]
        + [("string_set_value", pa.list_(pa.string())), ("file_value", pa.struct([("path", pa.string())]))]
        + [("histogram_value", pa.struct([("type", pa.string()), ("edges", numbers), ("values", numbers)]))]
    )
    (tmp_path / "exports" / "data" / "p").mkdir(parents=True)
    (tmp_path / "exports" / "files" / "p").mkdir(parents=True)
    (tmp_path / "exports" / "files" / "p" / "table.csv").write_text("a,b\n1,2\n")
    table = pa.Table.from_pylist([{"project_id": "team/proj", "run_id": "RUN-1", **row} for row in rows], schema=schema)
    parquet.write_table(table, tmp_path / "exports" / "data" / "p" / "RUN-1_part_0.parquet")
    assert "differs" not in imported("neptune", tmp_path / "exports" / "data", "--project", "of-neptune")
    run = _runs(service, "of-neptune")["base"]
    assert (run["config"], sorted(run["tags"])) == ({"params/lr": 0.1, "params/id": "007"}, ["a", "b"])
    assert run["started_at"].startswith("2025-06-01T00:00:00")
    series = _series(service, run["id"])
    assert series["loss"] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert (series["half"], series["half/step"]) == ([(0, 0.0), (1, 0.5), (2, 1.0)],) * 2
    assert _files(service, run["id"]) == {"data/table.csv"}
    assert sorted(_media(service, run["id"])) == ["w"]
    cut_off = table.set_column(table.schema.get_field_index("run_id"), "run_id", pa.array(["RUN-2"] * len(table)))
    parquet.write_table(cut_off, tmp_path / "exports" / "data" / "p" / "RUN-2_part_1.parquet")
    said = imported("neptune", tmp_path / "exports" / "data", "--project", "of-neptune", status=1)
    assert "records that could not be read or sent: 1" in said
    assert len(_runs(service, "of-neptune")) == 1


AIM = """
import numpy as np, aim
quiet = {"log_system_params": False, "system_tracking_interval": None}
run = aim.Run(repo=".", experiment="of aim", **quiet)
run.name, run.description = "base", "the notes"
run["hparams"] = {"lr": 0.1, "v": "007", "opt": {"name": "adam"}}
run.add_tag("a")
print("a printed line")
for step in range(4):
    run.track(1 / (step + 1), name="loss", step=step, epoch=step // 2, context={"subset": "train"})
    run.track(2 / (step + 1), name="loss", step=step, context={"subset": "val"})
    run.track(step, name="plain", step=step, context={"fold": 1})
run.track(float("nan"), name="nan", step=7)
pixels = np.zeros((8, 8, 3), np.uint8)
run.track(aim.Image(pixels, caption="c"), name="img", step=1)
run.track([aim.Image(pixels), aim.Image(pixels)], name="imgs", step=1)
run.track(aim.Text("hello"), name="words", step=2)
run.track(aim.Distribution(np.arange(100.0)), name="w", step=3)
run.track(aim.Audio(np.zeros((800, 1), np.int16), rate=8000, format="wav"), name="sound", step=1)
run.log_warning("warned")
open("m.pt", "wb").write(b"x" * 1000)
run.set_artifacts_uri("file://" + __import__("os").getcwd() + "/kept")
run.log_artifact("m.pt", block=True)
run.close()
left = aim.Run(repo=".", capture_terminal_logs=False, **quiet)
left.name = "left open"
left.track(1.0, name="x")
left.track(2.0, name="x")
__import__("os")._exit(0)
"""


def test_a_repository_of_aim(service: RealServer, imported: Import, tmp_path: Path) -> None:
    pytest.importorskip("aim", reason="Aim has no wheel for this version of Python")
    home = tmp_path / "of-aim"
    home.mkdir()
    (home / "script.py").write_text(AIM)
    subprocess.run([sys.executable, "script.py"], cwd=home, capture_output=True, check=True)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert "differs" not in imported("aim", home)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    found = _runs(service, "of-aim")
    assert {name: run["status"] for name, run in found.items()} == {"base": "completed", "left open": "running"}
    base = found["base"]
    assert base["config"] == {"hparams": {"lr": 0.1, "v": "007", "opt": {"name": "adam"}}}
    assert (base["tags"], base["notes"], base["group"]) == (["a"], "the notes", "of aim")
    series = _series(service, base["id"])
    assert series["train/loss"] == [(step, 1 / (step + 1)) for step in range(4)]
    assert series["val/loss"] == [(step, 2 / (step + 1)) for step in range(4)]
    assert series["axis/epoch"] == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert [step for step, _ in series["plain fold=1"]] == list(range(4))
    assert series["nan"] == [(7, "NaN")]
    media = _media(service, base["id"])
    kinds = {"img": "image", "imgs": "image", "words": "text", "w": "histogram", "sound": "audio"}
    assert {key: values[0]["_type"] for key, values in media.items()} == kinds
    assert (media["img"][0]["caption"], len(media["imgs"])) == ("c", 2)
    assert _files(service, base["id"]) == {"m.pt"}
    lines = service.call("GET", f"/api/batches/{base['id']}/log-lines?limit=100")["items"]
    assert {"a printed line", "warned"} <= {line["line"] for line in lines}
    assert "there already: 1" in imported("aim", home / ".aim")
