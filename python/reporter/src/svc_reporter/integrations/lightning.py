"""Lightning (or `pytorch_lightning`): `Trainer(callbacks=[SvcCallback(run)])`, or `Trainer(logger=SvcLogger(run))`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._run.artifact import Artifact
from .._run.reporter import Reporter
from .._run.run import Run
from ._models import Models
from ._training import Training, simple_params

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.loggers import Logger
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback
    try:
        from lightning.pytorch.loggers import Logger
    except ImportError:
        try:
            from pytorch_lightning.loggers import Logger
        except ImportError:
            Logger = object


class SvcLogger(Logger):
    """A Lightning logger: records what the module logs, by global step, as other loggers do.

    Hyperparameters become the job's parameters. `lightning_epoch` says the epoch of each row. It cannot stop the
    training early (only rank 0 logs); SvcCallback can. `log_model=True` keeps the checkpoints that ModelCheckpoint has
    at the end as versions of an artifact, the best one as `best`; `"all"` each one once it is saved.
    """

    def __init__(
        self,
        run: Reporter | Run | None = None,
        *,
        project: str | None = None,
        job_id: str = "fit",
        log_model: bool | str = False,
        **reporter: Any,
    ) -> None:
        super().__init__()
        self._job_id = job_id
        self.training = Training(run, project, job_id, reporter)
        self._checkpoints = _Checkpoints(self.training, log_model)
        self._params: dict[str, Any] = {}
        self._final: dict[str, Any] = {}
        self._ended = False

    @property
    def name(self) -> str:
        return self.training.run.project

    @property
    def version(self) -> str:
        return self.training.run.batch_id

    @property
    def experiment(self) -> Reporter | Run:
        return self.training.given

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        values = vars(params) if isinstance(params, Namespace) else dict(params or {})
        self._params.update(simple_params(values))

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        rank: Any = getattr(_rank_zero(), "rank", 0)
        if rank:
            return
        row = {("lightning_epoch" if name == "epoch" else name): value for name, value in metrics.items()}
        if not self.training.is_open and not self._ended:
            self.training.begin(None, params=self._params)
        self._final.update({name: value for name, value in row.items() if name != "lightning_epoch"})
        self.training.record(int(step or 0), row)
        if self._ended:
            self.training.amend(None, {}, row)

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        if not getattr(_rank_zero(), "rank", 0):
            self._checkpoints.saved(checkpoint_callback)

    def finalize(self, status: str) -> None:
        if self.training.is_open:
            self._checkpoints.keep()
            failed = status not in ("success", "finished")
            self.training.end(self._final, RuntimeError(f"the training ended as {status}") if failed else None)
            self._ended = True
        self.training.close()


class SvcCallback(Callback):
    """Records what the module logs, by global step, as Lightning passes it to its loggers.

    `fit`, and `validate` and `test` after it, are one job; without a fit they are jobs of their own. A trainer with
    `logger=False` works too. On stop it sets `trainer.should_stop`, agreed on by all ranks: they leave together.
    `log_model` is that of SvcLogger.
    """

    def __init__(
        self,
        run: Reporter | Run | None = None,
        *,
        project: str | None = None,
        job_id: str = "fit",
        log_model: bool | str = False,
        **reporter: Any,
    ) -> None:
        super().__init__()
        self._job_id = job_id
        self._training = Training(run, project, job_id, reporter)
        self._checkpoints = _Checkpoints(self._training, log_model)
        self._last: dict[str, Any] = {}
        self._fitted = False
        self._by_step = False
        """Lightning passes logged values on; a custom trainer without its connectors gets one row per epoch."""

    def setup(self, trainer: Any, pl_module: Any, stage: str | None = None) -> None:
        if getattr(trainer, "loggers", None) is not None and not any(
            isinstance(logger, _Tap) and logger.callback is self for logger in trainer.loggers
        ):
            trainer.loggers = [*trainer.loggers, _Tap(self)]
        self._by_step = getattr(trainer, "loggers", None) is not None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self._fitted = True
        self._begin(trainer, pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._training.should_stop_soon():
            trainer.should_stop = True

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._last = {name: _number(value) for name, value in trainer.callback_metrics.items()}
        strategy = getattr(trainer, "strategy", None)
        if not self._by_step:
            metrics = dict(self._last)
            optimizers = getattr(trainer, "optimizers", None)
            if optimizers:
                metrics.setdefault("lr", optimizers[0].param_groups[0].get("lr"))
            self._training.record(trainer.current_epoch, metrics)
        agree: Callable[[bool], bool] | None = None
        if strategy is not None:

            def agree(flag: bool) -> bool:
                return bool(strategy.reduce_boolean_decision(flag, all=False))

        if self._training.should_stop(agree):
            trainer.should_stop = True

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._begin_alone(trainer, pl_module, "validate")

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        self._begin_alone(trainer, pl_module, "test")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_alone(trainer, "validate")

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_alone(trainer, "test")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._training.end(self._last, exception)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        metrics = getattr(trainer, "callback_metrics", None)
        self._last.update({name: _number(value) for name, value in (metrics or {}).items()})
        if self._training.is_open:
            self._checkpoints.keep()
        self._training.end(self._last)
        self._training.close()

    def saved(self, checkpoint: Any) -> None:
        if self._training.is_open:
            self._checkpoints.saved(checkpoint)

    def logged(self, metrics: Mapping[str, Any], step: int | None) -> None:
        row = {("lightning_epoch" if name == "epoch" else name): value for name, value in metrics.items()}
        self._training.record(int(step or 0), row)

    def _begin(self, trainer: Any, pl_module: Any, job_id: str | None = None) -> None:
        if not getattr(trainer, "is_global_zero", True):
            return
        params = simple_params(dict(getattr(pl_module, "hparams", None) or {}))
        for name in ("max_epochs", "max_steps", "accumulate_grad_batches", "precision"):
            params.setdefault(name, getattr(trainer, name, None))
        self._training.begin(type(pl_module).__name__, job_id=job_id, params=simple_params(params))

    def _begin_alone(self, trainer: Any, pl_module: Any, what: str) -> None:
        if not self._fitted and not self._training.is_open:
            self._begin(trainer, pl_module, f"{self._job_id}-{what}")

    def _end_alone(self, trainer: Any, what: str) -> None:
        if getattr(trainer, "sanity_checking", False) or str(getattr(trainer.state, "fn", "")).endswith("fit"):
            return
        metrics = {name: _number(value) for name, value in trainer.callback_metrics.items()}
        if self._fitted:
            self._training.amend(None, {}, metrics)
        else:
            self._training.end(metrics)
            self._training.close()


class _Tap(Logger):
    """A logger that passes on to the callback what Lightning logs."""

    def __init__(self, callback: SvcCallback) -> None:
        super().__init__()
        self.callback = callback

    @property
    def name(self) -> str | None:
        return None

    @property
    def version(self) -> str | None:
        return None

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        return

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        if not getattr(_rank_zero(), "rank", 0):
            self.callback.logged(metrics, step)

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        if not getattr(_rank_zero(), "rank", 0):
            self.callback.saved(checkpoint_callback)


class _Checkpoints:
    """What ModelCheckpoint has saved, as versions of an artifact."""

    def __init__(self, training: Training, log_model: bool | str) -> None:
        self._models = Models(training, log_model)
        self._callbacks: list[Any] = []
        self._kept: dict[str, tuple[int, bool]] = {}
        """By path: when the file was changed that is kept, and whether it was the best."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_callbacks": []}

    def saved(self, callback: Any) -> None:
        if self._models.at_end and callback not in self._callbacks:
            self._callbacks.append(callback)
        if self._models.every:
            self.keep()

    def keep(self) -> None:
        for callback in self._callbacks:
            best = str(getattr(callback, "best_model_path", None) or "")
            found = {
                str(getattr(callback, "last_model_path", None) or ""): getattr(callback, "current_score", None),
                **{str(path): score for path, score in (getattr(callback, "best_k_models", None) or {}).items()},
                best: getattr(callback, "best_model_score", None),
            }
            for path in sorted((path for path in found if os.path.exists(path)), key=os.path.getmtime):
                changed = os.stat(path).st_mtime_ns
                if self._kept.get(path) in ((changed, path == best), (changed, True)):
                    continue
                self._kept[path] = (changed, path == best)
                score = found[path]
                self._models.keep(
                    _added(path),
                    *(["best"] if path == best else []),
                    filename=os.path.basename(path),
                    monitor=getattr(callback, "monitor", None),
                    score=None if score is None else _number(score),
                )


def _added(path: str) -> Callable[[Artifact, Path], None]:
    """A checkpoint is a file, or a folder of a sharded strategy. `last.ckpt` is written again, so it is copied."""

    def add(artifact: Artifact, _folder: Path) -> None:
        if os.path.isdir(path):
            artifact.add_dir(path)
        else:
            artifact.add_file(path)

    return add


def _rank_zero() -> Any:
    """Lightning's own function that runs on rank 0 only; its attribute `rank` is the rank of this process."""
    try:
        from lightning.pytorch.utilities import rank_zero_only
    except ImportError:
        try:
            from pytorch_lightning.utilities import rank_zero_only
        except ImportError:
            return None
    return rank_zero_only


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
