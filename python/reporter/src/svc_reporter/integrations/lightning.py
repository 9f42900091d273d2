"""Lightning (`lightning` or `pytorch_lightning`): `Trainer(..., callbacks=[SvcCallback(run)])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._reporter import Reporter
from ._training import Training

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback


class SvcCallback(Callback):
    """Records `trainer.callback_metrics` after every training epoch (validation has run by then).

    On stop it sets `trainer.should_stop`, agreed on by the strategy, so that every rank leaves together.
    """

    def __init__(
        self, run: Reporter | None = None, *, project: str | None = None, job_id: str = "fit", **reporter: Any
    ) -> None:
        super().__init__()
        self._training = Training(run, project, job_id, reporter)
        self._last: dict[str, Any] = {}

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        hparams = dict(getattr(pl_module, "hparams", None) or {})
        params = {name: value for name, value in hparams.items() if name not in ("model", "dataset", "job_id")}
        self._training.begin(model=type(pl_module).__name__, max_epochs=trainer.max_epochs, **params)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._last = {name: _number(value) for name, value in trainer.callback_metrics.items()}
        metrics = dict(self._last)
        optimizers = getattr(trainer, "optimizers", None)
        if optimizers:
            metrics.setdefault("lr", optimizers[0].param_groups[0].get("lr"))
        strategy = getattr(trainer, "strategy", None)

        def agree(flag: bool) -> bool:
            return bool(strategy.reduce_boolean_decision(flag, all=False)) if strategy is not None else flag

        if self._training.epoch(trainer.current_epoch, metrics, agree):
            trainer.should_stop = True

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._training.end(self._last, exception)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._training.end(self._last)
        self._training.close()


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
