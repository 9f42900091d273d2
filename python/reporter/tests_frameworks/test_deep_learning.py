"""Transformers, Lightning, Accelerate and Keras, each on PyTorch."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accelerate
import keras
import lightning.pytorch as lightning
import numpy
import pytest
import torch
import transformers
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

import svc_reporter as svc
from svc_reporter.integrations.accelerate import SvcTracker
from svc_reporter.integrations.huggingface import SvcCallback as HuggingFace
from svc_reporter.integrations.keras import SvcCallback as Keras
from svc_reporter.integrations.lightning import SvcCallback as Lightning
from svc_reporter.integrations.lightning import SvcLogger

Make = Callable[..., svc.Reporter]
torch.set_num_threads(1)


def _trainer(callback: Any, folder: Path, **more: Any) -> Any:
    config = transformers.BertConfig(
        vocab_size=40,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    model = transformers.BertForSequenceClassification(config)
    rows = [{"input_ids": [i % 30 + 1] * 4, "attention_mask": [1] * 4, "labels": i % 2} for i in range(32)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=8,
        logging_steps=1,
        per_device_train_batch_size=4,
        report_to=[],
        learning_rate=0.01,
        disable_tqdm=True,
        use_cpu=True,
        **{"save_strategy": "no", **more},
    )
    return transformers.Trainer(
        model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8], callbacks=[callback]
    )


def _history(trainer: Any, key: str) -> list[tuple[int, float]]:
    return [(row["step"], row[key]) for row in trainer.state.log_history if key in row]


def test_transformers_points_are_the_trainers_and_the_average_is_a_final_metric(
    make: Make, stored: Any, tmp_path: Path
) -> None:
    with make() as run:
        trainer = _trainer(HuggingFace(run), tmp_path, eval_strategy="steps", eval_steps=4)
        average = trainer.train().training_loss
    batch = stored(run.batch_id)
    job = batch.jobs["train"]
    assert batch.curve("train", "loss") == _history(trainer, "loss")
    assert batch.curve("train", "eval_loss") == _history(trainer, "eval_loss")
    assert batch.curve("train", "learning_rate") == _history(trainer, "learning_rate")
    assert job["status"] == "completed"
    assert job["metrics"]["train_loss"] == pytest.approx(average)
    assert not batch.curve("train", "train_runtime")
    assert job["params"]["weight_decay"] == 0.0
    assert job["params"]["hidden_size"] == 8
    assert job["params"]["learning_rate"] == 0.01


@pytest.mark.parametrize("owned", [False, True])
def test_transformers_evaluate_and_predict_after_the_training_are_kept(
    make: Make, stored: Any, tmp_path: Path, owned: bool
) -> None:
    if owned:
        make()
        callback = HuggingFace(project="frameworks", stop_poll_s=0, resources_s=0)
        run = callback._training.run
    else:
        run = make()
        callback = HuggingFace(run)
    trainer = _trainer(callback, tmp_path)
    trainer.train()
    evaluated = trainer.evaluate()
    predicted = trainer.predict(trainer.eval_dataset).metrics
    callback._training.close()
    run.close()
    batch = stored(run.batch_id).wait(lambda b: "test_loss" in (b.jobs["train"]["metrics"] or {}))
    assert batch.curve("train", "eval_loss") == [(8, evaluated["eval_loss"])]
    assert batch.jobs["train"]["metrics"]["test_loss"] == predicted["test_loss"]
    assert batch.jobs["train"]["status"] == "completed"
    assert batch.status == "completed"


def test_an_evaluation_of_another_model_is_a_final_metric_and_replaces_no_point(
    make: Make, stored: Any, tmp_path: Path
) -> None:
    with make() as run:
        trainer = _trainer(
            HuggingFace(run),
            tmp_path,
            eval_strategy="steps",
            eval_steps=2,
            save_steps=2,
            save_strategy="steps",
            load_best_model_at_end=True,
            metric_for_best_model="eval_loss",
        )
        trainer.train()
        history = _history(trainer, "eval_loss")
        with torch.no_grad():  # the best model may be the last one; these weights are of neither
            trainer.model.classifier.bias += torch.tensor([1.0, -1.0])
        best = trainer.evaluate()["eval_loss"]
        trainer.evaluate(metric_key_prefix="again")
    batch = stored(run.batch_id)
    assert best != history[-1][1]
    assert batch.curve("train", "eval_loss") == history
    metrics = batch.jobs["train"]["metrics"]
    assert metrics["eval_loss"] == best == metrics["again_loss"]
    assert batch.curve("train", "again_loss") == [(8, best)]


def test_a_transformers_training_that_raised_is_failed_though_the_script_caught_it(
    make: Make, stored: Any, tmp_path: Path
) -> None:
    with make() as run:
        trainer = _trainer(HuggingFace(run), tmp_path)
        trainer.data_collator = lambda rows: {"input_ids": "no tensor"}
        with pytest.raises(Exception, match=r".*"):
            trainer.train()
    job = stored(run.batch_id).jobs["train"]
    assert (job["status"], job["failure_reason"]) == ("failed", "ended without its end")


class Line(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(width, 1)

    def training_step(self, batch: Any, index: int) -> Any:
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

    def test_step(self, batch: Any, index: int) -> None:
        self.log("test_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def _data() -> Any:
    torch.manual_seed(0)
    x = torch.randn(24, 3)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)


def _csv(folder: str, key: str) -> list[tuple[int, float]]:
    import csv

    with open(Path(folder) / "metrics.csv") as file:
        return [(int(row["step"]), float(row[key])) for row in csv.DictReader(file) if row.get(key)]


def _lightning(**more: Any) -> Any:
    return lightning.Trainer(
        accelerator="cpu",
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        **more,
    )


@pytest.mark.parametrize("what", ["callback", "logger"])
def test_lightning_rows_are_those_of_its_own_csv_logger(make: Make, stored: Any, tmp_path: Path, what: str) -> None:
    own = CSVLogger(str(tmp_path))
    with make() as run:
        if what == "callback":
            trainer = _lightning(max_steps=15, logger=[own], callbacks=[Lightning(run)])
        else:
            trainer = _lightning(max_steps=15, logger=[own, SvcLogger(run)])
        model = Line()
        trainer.fit(model, _data(), _data())
        tested = trainer.test(model, _data(), verbose=False)[0]
    batch = stored(run.batch_id)
    job = batch.jobs["fit"]
    assert job["status"] == "completed"
    expected = _csv(own.log_dir, "train_loss")
    assert len(expected) == 15
    got = batch.curve("fit", "train_loss")
    assert [step for step, _ in got] == [step for step, _ in expected]
    assert [value for _, value in got] == pytest.approx([value for _, value in expected])
    assert [step for step, _ in batch.curve("fit", "val_loss")] == [s for s, _ in _csv(own.log_dir, "val_loss")]
    assert job["metrics"]["test_loss"] == pytest.approx(tested["test_loss"])
    assert job["params"]["width"] == 3


def test_lightning_keeps_series_that_are_called_loss_and_train_loss_apart(
    make: Make, stored: Any, tmp_path: Path
) -> None:
    class Both(Line):
        def training_step(self, batch: Any, index: int) -> Any:
            loss = super().training_step(batch, index)
            self.log("loss", loss * 2)
            return loss

    own = CSVLogger(str(tmp_path))
    with make() as run:
        trainer = _lightning(max_steps=4, logger=[own], callbacks=[Lightning(run)])
        trainer.fit(Both(), _data())
    for key in ("loss", "train_loss"):
        expected = _csv(own.log_dir, key)
        assert len(expected) == 4
        assert [value for _, value in stored(run.batch_id).curve("fit", key)] == pytest.approx(
            [value for _, value in expected]
        )


def test_a_validation_of_other_weights_after_a_lightning_fit_replaces_no_point(
    make: Make, stored: Any, tmp_path: Path
) -> None:
    own = CSVLogger(str(tmp_path))
    with make() as run:
        trainer = _lightning(max_epochs=1, logger=[own], callbacks=[Lightning(run)])
        trainer.fit(Line(), _data(), _data())
        expected = _csv(own.log_dir, "val_loss")[-1]
        later = trainer.validate(Line(), _data(), verbose=False)[0]["val_loss"]
    batch = stored(run.batch_id)
    assert later != pytest.approx(expected[1])
    assert dict(batch.curve("fit", "val_loss"))[expected[0]] == pytest.approx(expected[1])
    assert batch.jobs["fit"]["metrics"]["val_loss"] == pytest.approx(later)


def test_a_lightning_fit_that_raised_is_failed_with_the_exception(make: Make, stored: Any) -> None:
    class Broken(Line):
        def training_step(self, batch: Any, index: int) -> Any:
            raise RuntimeError("out of memory")

    with make() as run:
        with pytest.raises(RuntimeError):
            _lightning(max_epochs=1, logger=False, callbacks=[Lightning(run)]).fit(Broken(), _data())
    job = stored(run.batch_id).jobs["fit"]
    assert (job["status"], job["failure_reason"]) == ("failed", "RuntimeError: out of memory")


DDP = """
import sys, torch, lightning.pytorch as lightning
sys.path.insert(0, {tests!r})
import os
import svc_reporter as svc
from svc_reporter.integrations.lightning import SvcCallback
from tests_frameworks.test_deep_learning import Line, _data
run = svc.Reporter("frameworks", stop_poll_s=1, resources_s=0)
print("BATCH", run.batch_id, int(os.environ.get("LOCAL_RANK", 0)), flush=True)
trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs={epochs}, log_every_n_steps=1,
    enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False, logger=False,
    callbacks=[SvcCallback(run)])
trainer.fit(Line(), _data())
run.close()
"""


def test_lightning_with_two_ranks_of_its_own_making_is_one_run(make: Make, service: Any, stored: Any) -> None:
    make()
    script = Path("ddp.py")
    script.write_text(DDP.format(tests=str(Path(__file__).resolve().parents[1]), epochs=2))
    before = {b["id"] for b in service.call("GET", "/api/batches?limit=500")["items"]}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    made = [b for b in service.call("GET", "/api/batches?limit=500")["items"] if b["id"] not in before]
    assert len(made) == 1
    batch = stored(made[0]["id"])
    assert batch.status == "completed"
    assert len(batch.curve("fit", "train_loss")) == 6


def _versions(service: Any, run: svc.Reporter, name: str | None = None) -> list[dict[str, Any]]:
    """Of the run's artifact, oldest first, each with its files."""
    path = f"/api/projects/frameworks/artifacts/{name or f'model-{run.batch_id}'}"
    found = service.call("GET", path)["items"]
    return [service.call("GET", f"{path}/{one['version']}") for one in sorted(found, key=lambda one: one["created_at"])]


def _paths(version: dict[str, Any]) -> set[str]:
    return {one["path"] for one in version["files"]}


@pytest.mark.parametrize("log_model", [True, "all"])
def test_transformers_keeps_its_model_and_checkpoints_if_asked(
    make: Make, service: Any, tmp_path: Path, log_model: bool | str
) -> None:
    with make() as run:
        callback = HuggingFace(run, log_model=log_model)
        trainer = _trainer(callback, tmp_path / "out", save_strategy="steps", save_steps=4, save_total_limit=1)
        trainer.train()
        assert run.files.wait(time.monotonic() + 60)
    *checkpoints, final = _versions(service, run)
    assert [version["metadata"]["step"] for version in checkpoints] == ([4, 8] if log_model == "all" else [])
    assert all({"model.safetensors", "optimizer.pt", "trainer_state.json"} <= _paths(one) for one in checkpoints)
    assert _paths(final) >= {"model.safetensors", "config.json"}
    assert final["aliases"] == ["latest"]
    assert run.delivery.files_dropped == 0


@pytest.mark.parametrize("as_logger", [True, False])
@pytest.mark.parametrize("log_model", [True, "all"])
def test_lightning_keeps_its_checkpoints_if_asked(
    make: Make, service: Any, tmp_path: Path, log_model: bool | str, as_logger: bool
) -> None:
    with make() as run:
        ours = SvcLogger(run, log_model=log_model) if as_logger else Lightning(run, log_model=log_model)
        best = ModelCheckpoint(dirpath=tmp_path / "ckpt", monitor="val_loss", save_top_k=1, filename="{epoch}")
        trainer = lightning.Trainer(
            accelerator="cpu",
            enable_progress_bar=False,
            enable_model_summary=False,
            logger=ours if as_logger else False,
            callbacks=[best] if as_logger else [best, ours],
            max_epochs=3,
        )
        trainer.fit(Line(), _data(), _data())
        assert run.files.wait(time.monotonic() + 60)
    versions = _versions(service, run)
    [chosen] = [one for one in versions if "best" in one["aliases"]]
    assert chosen["metadata"]["filename"] == Path(best.best_model_path).name
    assert chosen["metadata"]["score"] == pytest.approx(float(best.best_model_score))
    assert _paths(chosen) == {Path(best.best_model_path).name}
    assert len(versions) == 1 if log_model is True else len(versions) >= 1
    assert run.delivery.files_dropped == 0


@pytest.mark.parametrize(("log_model", "epochs"), [(True, [2]), ("all", [0, 1, 2])])
def test_keras_keeps_its_model_if_asked(make: Make, service: Any, log_model: bool | str, epochs: list[int]) -> None:
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = numpy.random.default_rng(0).normal(size=(16, 3))
    with make() as run:
        model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[Keras(run, job_id="fold-1", log_model=log_model)])
        assert run.files.wait(time.monotonic() + 60)
    versions = _versions(service, run, f"model-{run.batch_id}-fold-1")
    assert [version["metadata"]["epoch"] for version in versions] == epochs
    assert all(_paths(version) == {"model.keras"} for version in versions)


def test_a_model_that_cannot_be_saved_costs_one_line_and_others_are_refused(
    make: Make, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match='must be True, False or "all"'):
        Keras(make(), log_model="sometimes")
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = numpy.zeros((4, 3))

    def fail(*_args: Any, **_more: Any) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(model, "save", fail)
    with make() as run:
        model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[Keras(run, log_model="all")])
    said = [record.getMessage() for record in caplog.records if "a model is not kept" in record.getMessage()]
    assert said == ["a model is not kept: RuntimeError: the disk is gone"]


def test_accelerates_tracker_records_what_the_accelerator_logs(make: Make, stored: Any) -> None:
    with make() as run:
        accelerator = accelerate.Accelerator(cpu=True, log_with=SvcTracker(run))
        accelerator.init_trackers("ignored", config={"lr": 0.1, "layers": [1, 2]})
        for step in range(5):
            accelerator.log({"loss": 1 / (step + 1), "train_loss": 0.5}, step=step)
        accelerator.end_training()
    batch = stored(run.batch_id)
    assert batch.curve("train", "loss") == [(step, 1 / (step + 1)) for step in range(5)]
    assert batch.curve("train", "train_loss") == [(step, 0.5) for step in range(5)]
    assert batch.jobs["train"]["params"] == {"lr": 0.1, "layers": [1, 2]}
    assert batch.jobs["train"]["status"] == "completed"


def _keras() -> tuple[Any, Any, Any]:
    numpy.random.seed(0)
    x = numpy.random.rand(64, 3).astype("float32")
    model = keras.Sequential([keras.layers.Dense(1)], name="line")
    model.compile("sgd", "mse")
    return model, x, x.sum(1, keepdims=True)


def test_keras_epochs_are_those_of_its_history_and_evaluate_is_kept(make: Make, stored: Any) -> None:
    model, x, y = _keras()
    callback_of: list[Any] = []
    with make() as run:
        callback_of.append(Keras(run))
        history = model.fit(x, y, epochs=3, verbose=0, validation_split=0.25, callbacks=callback_of).history
        evaluated = model.evaluate(x, y, verbose=0, callbacks=callback_of)
    batch = stored(run.batch_id)
    assert [value for _, value in batch.curve("fit", "loss")] == pytest.approx(history["loss"])
    assert [value for _, value in batch.curve("fit", "val_loss")] == pytest.approx(history["val_loss"])
    assert batch.jobs["fit"]["metrics"]["evaluate_loss"] == pytest.approx(evaluated)
    assert batch.jobs["fit"]["params"]["optimizer"] == "SGD"


def test_keras_steps_are_recorded_when_asked_for(make: Make, stored: Any) -> None:
    model, x, y = _keras()
    with make() as run:
        model.fit(x, y, epochs=2, batch_size=16, verbose=0, callbacks=[Keras(run, log_freq="batch")])
    assert [step for step, _ in stored(run.batch_id).curve("fit", "loss")] == list(range(1, 9))


def test_a_keras_fit_that_raised_is_failed_though_the_script_caught_it(make: Make, stored: Any) -> None:
    model, x, y = _keras()

    class Boom(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError("boom")

    with make() as run:
        with pytest.raises(RuntimeError):
            model.fit(x, y, epochs=2, verbose=0, callbacks=[Keras(run), Boom()])
    assert stored(run.batch_id).jobs["fit"]["status"] == "failed"


def test_torch_scalars_of_any_one_element_shape_are_points(make: Make, stored: Any) -> None:
    with make() as run, run.job("a") as job:
        job.epoch(
            0,
            a=torch.tensor(0.5),
            b=torch.tensor([[2]]),
            c=torch.tensor(1.5, dtype=torch.bfloat16),
            d=torch.tensor(True),
        )
    assert [stored(run.batch_id).curve("a", key) for key in "abcd"] == [[(0, 0.5)], [(0, 2)], [(0, 1.5)], [(0, 1)]]


@pytest.mark.parametrize("make_callback", [HuggingFace, Lightning, Keras, SvcLogger, SvcTracker])
def test_callbacks_can_be_pickled_and_copied(make: Make, make_callback: Any) -> None:
    with make() as run:
        callback = make_callback(run)
        pickle.loads(pickle.dumps(callback))
        copy.deepcopy(callback)


class Noisy(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    def __init__(self, run: svc.Reporter) -> None:
        self.run = run

    def __len__(self) -> int:
        return 8

    def __getitem__(self, at: int) -> Any:
        self.run.log(f"item {at} in {os.getpid()}")
        return torch.tensor(float(at))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_reporter_in_a_data_loaders_workers_hangs_nothing(make: Make, stored: Any, method: str) -> None:
    with make() as run, run.job("a") as job:
        loader = DataLoader(Noisy(run), num_workers=2, multiprocessing_context=method)
        job.epoch(0, total=sum(float(item) for item in loader))
    assert stored(run.batch_id).curve("a", "total") == [(0, 28)]
