"""Hugging Face Trainer: `Trainer(..., callbacks=[SvcCallback(run)])`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from .._run.artifact import Artifact
from .._run.reporter import Reporter
from .._run.run import Run
from ._models import Models
from ._training import Training, simple_params


class SvcCallback(TrainerCallback):
    """Records what the Trainer logs, by global step (training and evaluation of one step share a row).

    The summary at the end (`train_runtime`, the run's average `train_loss`, …) becomes final metrics, under the
    Trainer's own names, as `test_*` of `predict` do. `evaluate()` after `train()` adds to the same job: a point where
    its step has none, and final metrics. Without a training it is the job `<job_id>-evaluate`. All TrainingArguments
    and the model's config are parameters.

    `log_model=True` keeps the model at the end as an artifact (with `load_best_model_at_end` as `best`), `"all"` every
    checkpoint as well; the default is that of WANDB_LOG_MODEL.

    On stop it sets `control.should_training_stop` on all ranks at the same step, so that the Trainer
    finishes the step, saves if so configured, and leaves its loop on every rank.
    """

    def __init__(
        self,
        run: Reporter | Run | None = None,
        *,
        project: str | None = None,
        job_id: str = "train",
        log_model: bool | str | None = None,
        **reporter: Any,
    ) -> None:
        self._job_id = job_id
        self._training = Training(run, project, job_id, reporter)
        self._models = Models(self._training, os.environ.get("WANDB_LOG_MODEL") if log_model is None else log_model)
        self._final: dict[str, Any] = {}
        self._trained = False

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        self._final = {}
        self._trained = True
        if _is_first(state):
            self._begin(args, state, model)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if not _is_first(state):
            return
        metrics = {("hf_epoch" if name == "epoch" else name): value for name, value in (logs or {}).items()}
        if "train_runtime" in metrics:
            self._final.update(metrics)
            return
        if not self._training.is_open and not self._trained:
            self._evaluate_alone(args, state, kwargs.get("model"), metrics)
            return
        self._final.update({name: value for name, value in metrics.items() if isinstance(value, (int, float))})
        self._training.record_new(state.global_step, metrics)

    def on_predict(self, args: Any, state: Any, control: Any, metrics: dict[str, Any], **kwargs: Any) -> None:
        if not _is_first(state):
            return
        if self._training.is_open or self._trained:
            self._training.amend(None, {}, metrics)
        else:
            self._begin(args, state, kwargs.get("model"), f"{self._job_id}-predict")
            self._training.end(metrics)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._training.should_stop_soon():
            control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._models.every and _is_first(state) and self._training.is_open:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            self._models.keep(
                lambda artifact, _scratch: artifact.add_dir(folder, policy="immutable"), step=state.global_step
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._models.at_end and _is_first(state) and self._training.is_open:
            self._keep_model(args, state, kwargs)
        self._training.end(self._final)
        self._training.close()

    def _begin(self, args: Any, state: Any, model: Any, job_id: str | None = None) -> None:
        config = getattr(model, "config", None)
        params = {**_as_dict(config), **_as_dict(args)}
        params |= {"lr": getattr(args, "learning_rate", None), "max_steps": getattr(state, "max_steps", None)}
        for name in ("num_train_epochs", "per_device_train_batch_size"):
            params.setdefault(name, getattr(args, name, None))
        name = getattr(config, "_name_or_path", None) or type(model).__name__
        self._training.begin(name, job_id=job_id, params=simple_params(params))

    def _keep_model(self, args: Any, state: Any, given: dict[str, Any]) -> None:
        if getattr(args, "fsdp", None) or getattr(args, "deepspeed", None):
            return  # in parts on all ranks: their checkpoints have it

        def add(artifact: Artifact, folder: Path) -> None:
            parts: list[Any] = [given.get("model"), given.get("processing_class") or given.get("tokenizer")]
            for part in parts:
                if hasattr(part, "save_pretrained"):
                    part.save_pretrained(folder)
            artifact.add_dir(folder, policy="immutable")

        best = getattr(args, "load_best_model_at_end", False)
        score = getattr(state, "best_metric", None) if best else None
        self._models.keep(add, *(["best"] if best else []), step=state.global_step, best_metric=score)

    def _evaluate_alone(self, args: Any, state: Any, model: Any, metrics: dict[str, Any]) -> None:
        self._begin(args, state, model, f"{self._job_id}-evaluate")
        self._training.record(state.global_step, metrics)
        self._training.end(metrics)


def _is_first(state: Any) -> bool:
    return bool(getattr(state, "is_world_process_zero", True))


def _as_dict(thing: Any) -> dict[str, Any]:
    """Of TrainingArguments, with tokens masked by transformers itself, or of a model's config."""
    to_dict = getattr(thing, "to_dict", None)
    try:
        values = to_dict() if callable(to_dict) else {}
    except Exception:  # a config of the user's own: it costs its parameters only
        return {}
    return dict(values) if isinstance(values, dict) else {}
