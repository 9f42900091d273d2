"""Keras 3: `model.fit(..., callbacks=[SvcCallback(run)])`, with any backend."""

from __future__ import annotations

from typing import Any

import keras

from .._run.reporter import Reporter
from .._run.run import Run
from ._models import Models, written
from ._training import Training


class SvcCallback(keras.callbacks.Callback):
    """Records every epoch's logs; on stop it sets `model.stop_training`, as EarlyStopping does.

    With `log_freq="batch"`, or a number of batches, it records by batch: rows are then numbered by the batches of
    the whole training, those at an epoch's end hold the epoch's values, and `keras_epoch` says the epoch.
    `evaluate()` after `fit()` adds final metrics `evaluate_*` to the same job. `log_model=True` keeps the model at the
    end as an artifact, `"all"` after every epoch.
    """

    def __init__(
        self,
        run: Reporter | Run | None = None,
        *,
        project: str | None = None,
        job_id: str = "fit",
        log_freq: str | int = "epoch",
        log_model: bool | str = False,
        **reporter: Any,
    ) -> None:
        super().__init__()
        if log_freq not in ("epoch", "batch") and not (isinstance(log_freq, int) and log_freq > 0):
            raise ValueError(f'log_freq must be "epoch", "batch" or a number of batches, got {log_freq!r}')
        self._training = Training(run, project, job_id, reporter)
        self._models = Models(self._training, log_model)
        self._every = 0 if log_freq == "epoch" else 1 if log_freq == "batch" else int(log_freq)
        self._batches = 0
        self._epoch = 0

    def __getstate__(self) -> dict[str, Any]:
        """Without the model, which has the callback and not the other way round."""
        return {**self.__dict__, "_model": None, "params": None}

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._batches = 0
        params: dict[str, Any] = dict(self.params or {})
        if "steps" in params:  # of one epoch; `steps` of a job is its planned length
            params["steps_per_epoch"] = params.pop("steps")
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            params["optimizer"] = type(optimizer).__name__
            params["learning_rate"] = _number(getattr(optimizer, "learning_rate", None))
        self._training.begin(getattr(self.model, "name", None), params=params)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._batches += 1
        if self._every and self._batches % self._every == 0:
            self._training.record(self._batches, {**(logs or {}), "keras_epoch": self._epoch})
        if self._training.should_stop_soon():
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        metrics = dict(logs or {})
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        if rate is not None and "learning_rate" not in metrics:
            metrics["learning_rate"] = _number(rate)
        if self._every:
            metrics = {
                (name if name.startswith(("val_", "learning")) else f"epoch_{name}"): value
                for name, value in metrics.items()
            } | {"keras_epoch": epoch}
        if self._training.epoch(self._batches if self._every else epoch, metrics):
            self.model.stop_training = True
        if self._models.every:
            self._keep_model(epoch)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        if not self._training.is_open:
            self._training.amend(None, {}, {f"evaluate_{name}": value for name, value in (logs or {}).items()})

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._models.at_end and not self._models.every:
            self._keep_model(self._epoch)
        self._training.end(logs)
        self._training.close()

    def _keep_model(self, epoch: int) -> None:
        model: Any = self.model
        self._models.keep(written("model.keras", model.save), epoch=epoch)


def _number(rate: Any) -> float | None:
    try:
        return float(keras.ops.convert_to_numpy(rate))
    except Exception:  # a schedule without a current value
        return None
