"""Integrations, with the real libraries where a CPU build fits; each says which.

xgboost-cpu, lightgbm (with scikit-learn's digits) and keras on jax train for real. transformers' Trainer needs
torch, whose wheel is over 500 MB: its own CallbackHandler, TrainerState and TrainerControl drive the callback
as the Trainer does. lightning cannot even be imported without torch: its documented interface is imitated.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest
from .kit.wait import until

Make = Callable[..., svc.Reporter]
os.environ.setdefault("KERAS_BACKEND", "jax")


def _digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x, y


def _epochs(server: FakeIngest, job: str) -> list[int]:
    return [event["data"]["epoch"] for event in server.of("job_epoch") if event["job_id"] == job]


def _last(server: FakeIngest) -> str:
    event = server.events[-1]
    return str(event["data"].get("reason", event["event_type"]))


def _stop_at(server: FakeIngest, run: svc.Reporter, at: int) -> Callable[[int], None]:
    """Presses stop when iteration `at` is reached, and waits until the reporter has seen it."""

    def press(iteration: int) -> None:
        if iteration == at:
            server.stop_requested = True
            until(lambda: run.stop_requested)

    return press


def test_xgboost_reports_every_round(make: Make, server: FakeIngest) -> None:
    import xgboost

    from svc_reporter.integrations.xgboost import SvcCallback

    x, y = _digits()
    train, valid = xgboost.DMatrix(x[:1500], y[:1500]), xgboost.DMatrix(x[1500:], y[1500:])
    with make() as run:
        model = xgboost.train(
            {"objective": "multi:softprob", "num_class": 10, "nthread": 1, "max_depth": 2},
            train,
            12,
            evals=[(train, "train"), (valid, "valid")],
            callbacks=[SvcCallback(run, job_id="digits")],
            verbose_eval=False,
        )
    assert model.num_boosted_rounds() == 12
    assert _epochs(server, "digits") == list(range(12))
    last = server.of("job_epoch")[-1]["data"]
    assert last["train_loss"] == last["train/mlogloss"]
    assert last["val_loss"] == last["valid/mlogloss"] < 1.5
    assert server.of("job_done")[0]["data"]["metrics"]["valid/mlogloss"] == last["valid/mlogloss"]


def test_the_val_loss_of_xgboost_is_of_the_set_that_early_stopping_watches(make: Make, server: FakeIngest) -> None:
    import xgboost

    from svc_reporter.integrations.xgboost import SvcCallback

    x, y = _digits()
    with make() as run:
        model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1, callbacks=[SvcCallback(run)])
        model.fit(x[:1500], y[:1500], eval_set=[(x[:1500], y[:1500]), (x[1500:], y[1500:])], verbose=False)
    last = server.of("job_epoch")[-1]["data"]
    assert last["val_loss"] == last["validation_1/mlogloss"] != last["validation_0/mlogloss"]
    assert "train_loss" not in last


def test_a_callback_that_opens_a_run_takes_its_name_and_prints_its_address_once(
    server: FakeIngest, lightning: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    target = {"url": server.url, "token": server.token, "resources_s": 0, "stop_poll_s": 0}
    callback = lightning.SvcCallback(project="vision", name="baseline", group="night", notes="n", **target)
    for _ in range(2):
        callback._training.begin("M", params={})
    callback.on_fit_end(_trainer(), SimpleNamespace(hparams=None))
    data = server.of("batch_start")[0]["data"]
    assert (data["name"], data["group"], data["notes"]) == ("baseline", "night", "n")
    printed = [line for line in capsys.readouterr().err.splitlines() if line.startswith("svc: ")]
    assert printed == [f"svc: run baseline: {server.url}/b/{server.of('batch_start')[0]['batch_id']}"]
    with pytest.raises(TypeError, match="name must be a string"):
        lightning.SvcCallback(project="vision", name=3)


def test_xgboost_stops_by_itself_when_asked_to(make: Make, server: FakeIngest) -> None:
    import xgboost

    from svc_reporter.integrations.xgboost import SvcCallback

    x, y = _digits()
    data = xgboost.DMatrix(x, y)
    with make(stop_poll_s=0.02) as run:
        press = _stop_at(server, run, 3)

        class Press(xgboost.callback.TrainingCallback):  # type: ignore[misc]
            def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                press(epoch)
                return False

        model = xgboost.train(
            {"nthread": 1},
            data,
            100,
            evals=[(data, "train")],
            callbacks=[Press(), SvcCallback(run)],
            verbose_eval=False,
        )
    assert model.num_boosted_rounds() == 4
    assert _last(server) == "stop_requested"
    assert server.of("job_failed")[0]["data"]["reason"] == "stop_requested"


def test_lightgbm_reports_every_round_and_survives_early_stopping(make: Make, server: FakeIngest) -> None:
    import lightgbm

    from svc_reporter.integrations.lightgbm import SvcCallback

    x, y = _digits()
    params = {"objective": "multiclass", "num_class": 10, "num_leaves": 4, "verbosity": -1, "num_threads": 1}
    train = lightgbm.Dataset(x[:1500], y[:1500])
    valid = lightgbm.Dataset(x[1500:], y[1500:], reference=train)
    with make() as run:
        callback = SvcCallback(run, job_id="digits")
        lightgbm.train(params, train, 8, valid_sets=[valid], valid_names=["valid"], callbacks=[callback])
        stopping = lightgbm.early_stopping(1, min_delta=100.0, verbose=False)
        again = SvcCallback(run, job_id="early")
        lightgbm.train(params, train, 8, valid_sets=[valid], valid_names=["valid"], callbacks=[again, stopping])
    assert _epochs(server, "digits") == list(range(8))
    assert server.of("job_epoch")[0]["data"]["val_loss"] > 0
    assert server.of("job_start")[0]["data"]["num_leaves"] == 4
    assert _epochs(server, "early") == [0, 1]
    assert [event["job_id"] for event in server.of("job_done")] == ["digits", "early"]
    assert _last(server) == "batch_done"


def test_lightgbm_stops_by_itself_when_asked_to(make: Make, server: FakeIngest) -> None:
    import lightgbm

    from svc_reporter.integrations.lightgbm import SvcCallback

    x, y = _digits()
    train = lightgbm.Dataset(x, y)
    with make(stop_poll_s=0.02) as run:
        press = _stop_at(server, run, 3)

        def pressing(env: Any) -> None:
            press(env.iteration)

        pressing.order = 1  # type: ignore[attr-defined]
        model = lightgbm.train(
            {"verbosity": -1, "num_threads": 1}, train, 100, valid_sets=[train], callbacks=[pressing, SvcCallback(run)]
        )
    assert model.current_iteration() <= 5
    assert _last(server) == "stop_requested"


def test_keras_reports_every_epoch_and_stops_by_itself(make: Make, server: FakeIngest) -> None:
    keras = importlib.import_module("keras")

    from svc_reporter.integrations.keras import SvcCallback

    x, y = _digits()

    def model() -> Any:
        built = keras.Sequential([keras.layers.Dense(10, activation="softmax")], name="digits")
        built.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return built

    with make() as run:
        model().fit(x, y, epochs=3, verbose=0, validation_split=0.2, callbacks=[SvcCallback(run, job_id="a")])
    assert _epochs(server, "a") == [0, 1, 2]
    data = server.of("job_epoch")[0]["data"]
    assert {"loss", "val_loss", "learning_rate", "accuracy", "val_accuracy"} <= set(data)
    assert data["learning_rate"] == pytest.approx(0.001)
    assert server.of("job_start")[0]["data"]["model"] == "digits"
    assert "loss" in server.of("job_done")[0]["data"]["metrics"]

    with make(stop_poll_s=0.02) as run:
        press = _stop_at(server, run, 1)
        pressing = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, _logs: press(epoch))
        model().fit(x, y, epochs=50, verbose=0, callbacks=[pressing, SvcCallback(run, job_id="b")])
    assert _epochs(server, "b") == [0, 1]
    assert _last(server) == "stop_requested"


def test_keras_without_a_given_run_opens_and_closes_one(server: FakeIngest) -> None:
    keras = importlib.import_module("keras")

    from svc_reporter.integrations.keras import SvcCallback

    x, y = _digits()
    built = keras.Sequential([keras.layers.Dense(1)])
    built.compile("sgd", "mse")
    callback = SvcCallback(project="vision", url=server.url, token=server.token, stop_poll_s=0, resources_s=0)
    built.fit(x[:64], y[:64], epochs=1, verbose=0, callbacks=[callback])
    assert server.types() == ["batch_start", "job_start", "job_epoch", "job_done", "batch_done"]
    with pytest.raises(TypeError, match="run="):
        SvcCallback()


def test_hugging_face_logs_become_rows_by_step_and_a_stop_sets_the_control(make: Make, server: FakeIngest) -> None:
    transformers = importlib.import_module("transformers")
    machinery = importlib.import_module("transformers.trainer_callback")

    from svc_reporter.integrations.huggingface import SvcCallback

    with make(stop_poll_s=0.02) as run:
        model = SimpleNamespace(config=SimpleNamespace(_name_or_path="gpt2"))
        handler = machinery.CallbackHandler([SvcCallback(run, job_id="tune")], model, None, None, None)
        state, control = transformers.TrainerState(), transformers.TrainerControl()
        args = SimpleNamespace(learning_rate=1e-4, num_train_epochs=1, per_device_train_batch_size=8)
        state.max_steps = 100
        control = handler.on_train_begin(args, state, control)
        for step in range(1, 101):
            state.global_step = step
            control = handler.on_step_end(args, state, control)
            if step % 2 == 0:
                handler.on_log(args, state, control, {"loss": 1.0 / step, "learning_rate": 1e-4, "epoch": step / 100})
            if step == 4:
                handler.on_log(args, state, control, {"eval_loss": 0.9, "eval_acc": 0.5})
                server.stop_requested = True
                until(lambda: run.stop_requested)
            if control.should_training_stop:
                break
        handler.on_train_end(args, state, control)
    assert step == 5
    rows = [(e["data"]["epoch"], set(e["data"]) - {"epoch"}) for e in server.of("job_epoch")]
    assert rows == [
        (2, {"loss", "learning_rate", "hf_epoch"}),
        (4, {"loss", "learning_rate", "hf_epoch"}),
        (4, {"eval_loss", "eval_acc"}),
    ]
    assert server.of("job_start")[0]["data"]["model"] == "gpt2"
    assert _last(server) == "stop_requested"


@pytest.fixture
def lightning(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The part of lightning.pytorch.callbacks that a callback sees, as its documentation describes it."""
    root, pytorch, callbacks = (
        ModuleType(n) for n in ("lightning", "lightning.pytorch", "lightning.pytorch.callbacks")
    )
    callbacks.Callback = type("Callback", (), {})  # type: ignore[attr-defined]
    for module in (root, pytorch, callbacks):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "svc_reporter.integrations.lightning", raising=False)
    yield importlib.import_module("svc_reporter.integrations.lightning")
    sys.modules.pop("svc_reporter.integrations.lightning", None)


class _Tensor(float):
    shape = ()

    def item(self) -> float:
        return float(self)


def _trainer(other_rank_stops: bool = False) -> Any:
    return SimpleNamespace(
        max_epochs=10,
        current_epoch=0,
        should_stop=False,
        callback_metrics={"train_loss": _Tensor(0.5), "val_loss": _Tensor(0.6), "acc": _Tensor("nan")},
        optimizers=[SimpleNamespace(param_groups=[{"lr": 0.01}])],
        strategy=SimpleNamespace(reduce_boolean_decision=lambda flag, all: flag or other_rank_stops),
    )


def test_lightning_reports_every_epoch(make: Make, server: FakeIngest, lightning: Any) -> None:
    trainer, module = _trainer(), SimpleNamespace(hparams={"width": 64, "model": "ignored"})
    with make() as run:
        callback = lightning.SvcCallback(run, job_id="fit")
        callback.on_fit_start(trainer, module)
        for trainer.current_epoch in range(3):
            callback.on_train_epoch_end(trainer, module)
        callback.on_fit_end(trainer, module)
    assert _epochs(server, "fit") == [0, 1, 2]
    data = server.of("job_epoch")[0]["data"]
    assert data == {"epoch": 0, "train_loss": 0.5, "val_loss": 0.6, "acc": "NaN", "lr": 0.01}
    assert server.of("job_start")[0]["data"]["width"] == 64
    assert not trainer.should_stop


def test_lightning_stops_if_any_rank_has_a_stop_request_and_reports_exceptions(
    make: Make, server: FakeIngest, lightning: Any
) -> None:
    trainer, module = _trainer(other_rank_stops=True), SimpleNamespace(hparams=None)
    with make() as run:
        callback = lightning.SvcCallback(run)
        callback.on_fit_start(trainer, module)
        callback.on_train_epoch_end(trainer, module)
        assert trainer.should_stop
        callback.on_fit_end(trainer, module)
    assert _last(server) == "stop_requested"
    trainer = _trainer()
    with make() as run:
        callback = lightning.SvcCallback(run)
        callback.on_fit_start(trainer, module)
        callback.on_exception(trainer, module, RuntimeError("CUDA out of memory"))
    assert server.of("job_failed")[-1]["data"]["reason"] == "RuntimeError: CUDA out of memory"
