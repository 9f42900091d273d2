"""`init(mirror=)` and `patch_tensorboard` with the real libraries: the same values are read back from both sides."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.real_server import RealServer

import svc_reporter as svc
from svc_reporter.query import Api

QUIET: dict[str, Any] = {"stop_poll_s": 0, "heartbeat_s": 0, "resources_s": 0, "environment": False, "console": False}
CONFIG = {"lr": 0.1, "opt": {"name": "adam"}}
LOSS = [(step, 1 / (step + 1)) for step in range(4)]
Curves = dict[str, list[tuple[int, float]]]


@pytest.fixture
def start(service: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., svc.Run]:
    for name, value in {
        "SVC_REPORTER_DIR": tmp_path / "spill",
        "SVC_URL": service.url,
        "SVC_TOKEN": service.token,
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)

    def make(**more: Any) -> svc.Run:
        return svc.init(f"mirror-{secrets.token_hex(4)}", name="both", config=CONFIG, mode="online", **QUIET, **more)

    return make


def ours(service: RealServer, batch_id: str) -> Curves:
    found = service.call("GET", f"/api/batches/{batch_id}/metrics")["series"]
    return {one["key"]: list(zip(one["steps"], one["values"], strict=True)) for one in found}


def assert_same(theirs: list[tuple[int, float]], mine: list[tuple[int, float]]) -> None:
    """TensorBoard keeps 32 bits of a number."""
    assert [step for step, _ in theirs] == [step for step, _ in mine]
    assert [value for _, value in theirs] == pytest.approx([value for _, value in mine], rel=1e-6)


def records_of_wandb(folder: Path) -> list[Any]:
    """All records of the one run. W&B's own process writes the end of its log after `finish` has returned."""
    from svc_reporter.importing._records import End, Found, Wanted
    from svc_reporter.importing._wandb import open_source

    until = time.monotonic() + 60
    while True:
        [found] = open_source(Wanted(str(folder))).runs()
        records = list(found.records()) if isinstance(found, Found) else [found]
        if any(isinstance(one, End) for one in records) or time.monotonic() > until:
            return records
        time.sleep(0.2)


def of_wandb(folder: Path, _run_id: str) -> tuple[Curves, Any, str]:
    from svc_reporter.importing._records import End, Facts, Row

    records = records_of_wandb(folder / "wandb")
    curves: Curves = {}
    config: Any = {}
    state = ""
    for record in records:
        if isinstance(record, Row):
            for name, value in record.values.items():
                curves.setdefault(name, []).append((record.step, value))
        elif isinstance(record, Facts) and record.values.get("config"):
            config = {**config, **record.values["config"]}
        elif isinstance(record, End):
            state = record.state
    return curves, config, state


def of_mlflow(_folder: Path, run_id: str) -> tuple[Curves, Any, str]:
    import mlflow

    client = mlflow.MlflowClient()
    every = client.search_runs([one.experiment_id for one in client.search_experiments()])
    [run] = [one for one in every if one.data.tags.get("svc.run") == run_id]
    curves = {}
    for name in run.data.metrics:
        curves[name] = [(one.step, one.value) for one in client.get_metric_history(run.info.run_id, name)]
    return curves, run.data.params, run.info.status


def scalars_of(folder: Path) -> tuple[Curves, Any]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    return {tag: [(one.step, one.value) for one in read.Scalars(tag)] for tag in read.Tags()["scalars"]}, read


def of_tensorboard(folder: Path, run_id: str) -> tuple[Curves, Any, str]:
    curves, read = scalars_of(folder / "runs" / run_id)
    texts = [one.tensor_proto.string_val[0].decode() for one in read.Tensors("config/text_summary")]
    return curves, texts[-1], "finished"


@pytest.mark.parametrize(
    ("kind", "read", "config", "failed"),
    [
        ("wandb", of_wandb, {"lr": 0.1, "opt": {"name": "adam"}, "late": 1}, "failed"),
        ("mlflow", of_mlflow, {"lr": "0.1", "opt/name": "adam", "late": "1"}, "FAILED"),
        ("tensorboard", of_tensorboard, "    lr: 0.1\n    opt/name: adam\n    late: 1", "finished"),
    ],
    ids=["wandb", "mlflow", "tensorboard"],
)
def test_a_mirror_has_the_same_values(
    service: RealServer, start: Callable[..., svc.Run], tmp_path: Path, kind: str, read: Any, config: Any, failed: str
) -> None:
    run = start(mirror=kind)
    run.config.update({"late": 1})
    for step in range(4):
        run.log({"loss": 1 / (step + 1), "acc": {"top1": step / 4}, "word": "no number"}, step=step)
    run.finish(exit_code=1)
    curves, found_config, state = read(tmp_path, str(run.id))
    mine = ours(service, str(run.id))
    assert mine["loss"] == LOSS
    assert sorted(curves) == sorted(mine) == ["acc/top1", "loss"]
    for name, points in mine.items():
        assert_same(curves[name], points)
    assert (found_config, state) == (config, failed)
    stored = Api(service.url, service.session or service.token).batch(str(run.id))
    assert (stored["config"], stored["status"]) == ({**CONFIG, "late": 1}, "failed")


def test_a_tapped_writer_has_the_same_values(
    service: RealServer, start: Callable[..., svc.Run], tmp_path: Path
) -> None:
    import numpy as np
    from torch.utils.tensorboard import SummaryWriter

    undo = svc.patch_tensorboard()
    try:
        run = start()
        writer = SummaryWriter(str(tmp_path / "runs" / "tapped"))
        for step in range(4):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalars("acc", {"train": step / 4, "val": step / 8}, global_step=step)
        writer.add_text("note", "hello", 1)
        writer.add_image("img", np.zeros((3, 8, 8), np.float32), 2)
        writer.add_histogram("w", np.arange(100.0), 3)
        writer.add_audio("sound", np.zeros((1, 800), np.float32), 1, sample_rate=8_000)
        writer.add_hparams({"bs": 8}, {"hp/acc": 0.75})
        writer.close()
        run.finish()
    finally:
        undo()
    mine = ours(service, str(run.id))
    assert mine["loss"] == LOSS
    assert (mine["acc/train"][3], mine["acc/val"][3]) == ((3, 0.75), (3, 0.375))
    theirs, _ = scalars_of(tmp_path / "runs" / "tapped")
    assert_same(theirs["loss"], mine["loss"])
    found = service.call("GET", f"/api/batches/{run.id}/media?limit=100")["items"]
    kinds = {item["key"]: (item["values"][0]["_type"], item["step"]) for item in found}
    assert kinds == {"note": ("text", 1), "img": ("image", 2), "w": ("histogram", 3), "sound": ("audio", 1)}
    stored = Api(service.url, service.session or service.token).batch(str(run.id))
    assert (stored["config"]["bs"], stored["summary"]["hp/acc"]) == (8, 0.75)
