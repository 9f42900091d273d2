"""Keras 3: `model.fit(..., callbacks=[SvcCallback(run)])`, with any backend."""

from __future__ import annotations

from typing import Any

import keras

from .._reporter import Reporter
from ._training import Training


class SvcCallback(keras.callbacks.Callback):
    """Records every epoch's logs; on stop it sets `model.stop_training`, as EarlyStopping does."""

    def __init__(
        self, run: Reporter | None = None, *, project: str | None = None, job_id: str = "fit", **reporter: Any
    ) -> None:
        super().__init__()
        self._training = Training(run, project, job_id, reporter)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._training.begin(model=getattr(self.model, "name", None), **(self.params or {}))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        metrics = dict(logs or {})
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        if rate is not None and "learning_rate" not in metrics:
            metrics["learning_rate"] = _number(rate)
        if self._training.epoch(epoch, metrics):
            self.model.stop_training = True

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._training.end(logs)
        self._training.close()


def _number(rate: Any) -> float | None:
    try:
        return float(keras.ops.convert_to_numpy(rate))
    except Exception:  # a schedule without a current value
        return None
