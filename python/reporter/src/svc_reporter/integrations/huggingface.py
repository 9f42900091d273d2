"""Hugging Face Trainer: `Trainer(..., callbacks=[SvcCallback(run)])`."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from .._reporter import Reporter
from ._training import Training


class SvcCallback(TrainerCallback):
    """Records what the Trainer logs, by global step (training and evaluation of one step share a row).

    On stop it sets `control.should_training_stop` on all ranks at the same step, so that the Trainer
    finishes the step, saves if it is told to, and leaves its loop on every rank.
    """

    def __init__(
        self, run: Reporter | None = None, *, project: str | None = None, job_id: str = "train", **reporter: Any
    ) -> None:
        self._training = Training(run, project, job_id, reporter)
        self._last: dict[str, Any] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        self._last = {}
        params = {
            "model": getattr(getattr(model, "config", None), "_name_or_path", None) or type(model).__name__,
            "max_steps": getattr(state, "max_steps", None),
            "num_train_epochs": getattr(args, "num_train_epochs", None),
            "per_device_train_batch_size": getattr(args, "per_device_train_batch_size", None),
            "lr": getattr(args, "learning_rate", None),
        }
        self._training.begin(**params)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        metrics = {("hf_epoch" if name == "epoch" else name): value for name, value in (logs or {}).items()}
        self._last.update({name: value for name, value in metrics.items() if isinstance(value, (int, float))})
        # Only what rank 0 knows is recorded here; the common decision is taken in on_step_end.
        self._training.epoch(state.global_step, metrics, agree=lambda _flag: False)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._training.should_stop():
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._training.end(self._last)
        self._training.close()
