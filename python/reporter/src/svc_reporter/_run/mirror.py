"""`init(mirror="wandb" | "mlflow" | "tensorboard")`: the same values there, too, for the weeks of a migration.

A mirror never harms the training: what it raises is said once, and the next call is tried again.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .._capture.axes import flattened, number_of
from .._capture.config import Config
from .._shared.ids import now_ms
from .._shared.signals import raise_if_by_signal
from .reporter import Reporter


class Mirrored(Protocol):
    """What a mirror reads of a `Run`."""

    config: Config

    @property
    def id(self) -> str: ...
    @property
    def reporter(self) -> Reporter: ...
    @property
    def project(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str | None: ...
    @property
    def notes(self) -> str | None: ...
    @property
    def tags(self) -> tuple[str, ...]: ...


KINDS = ("wandb", "mlflow", "tensorboard")


def checked(kind: Any) -> str | None:
    """Raises ValueError for a kind that does not exist."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"mirror must be 'wandb', 'mlflow' or 'tensorboard', got {kind!r}")
    return None if kind is None else str(kind)


def open_mirror(kind: str, run: Mirrored) -> Mirror | None:
    """None, with a message, if the library is not there or does not start."""
    make = {"wandb": _WandB, "mlflow": _MLflow, "tensorboard": _TensorBoard}[kind]
    try:
        return Mirror(kind, make(run), run)
    except Exception as error:
        raise_if_by_signal(error)
        _say(run, kind, f"the run is not mirrored to {kind}: {type(error).__name__}: {error}")
        return None


class Mirror:
    """Its methods never raise."""

    def __init__(self, kind: str, other: _Other, run: Mirrored) -> None:
        self._kind = kind
        self._other = other
        self._run = run

    def log(self, data: Mapping[str, Any], step: int) -> None:
        self._try(lambda: self._other.log(data, step))

    def config(self, values: Mapping[str, Any]) -> None:
        self._try(lambda: self._other.config(values))

    def finish(self, failed: bool) -> None:
        self._try(lambda: self._other.finish(failed))

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            raise_if_by_signal(error)
            _say(self._run, self._kind, f"a call was not mirrored to {self._kind}: {type(error).__name__}: {error}")


def _say(run: Mirrored, kind: str, text: str) -> None:
    run.reporter.messages.log_once(logging.WARNING, f"mirror {kind}", text)


def numbers_in(data: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a call of `log`, nested ones with `/` in their names."""
    found = {name: number_of(value) for name, value in flattened(data)}
    return {name: number for name, number in found.items() if number is not None}


class _Other:
    """The other tool."""

    def __init__(self, run: Mirrored) -> None:
        raise NotImplementedError

    def log(self, data: Mapping[str, Any], step: int) -> None:
        raise NotImplementedError

    def config(self, values: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def finish(self, failed: bool) -> None:
        raise NotImplementedError


class _WandB(_Other):
    def __init__(self, run: Mirrored) -> None:
        wandb: Any = importlib.import_module("wandb")
        if "svc_reporter" in str(getattr(wandb, "__file__", "")) or wandb is sys.modules.get("svc_reporter"):
            raise ValueError("`wandb` is this module here")
        details = {"name": run.name, "group": run.group, "notes": run.notes, "tags": list(run.tags) or None}
        settings = wandb.Settings(console="off")  # both would catch the same lines
        self._run = wandb.init(project=run.project, config=dict(run.config), settings=settings, **details)

    def log(self, data: Mapping[str, Any], step: int) -> None:
        self._run.log(numbers_in(data), step=step)

    def config(self, values: Mapping[str, Any]) -> None:
        self._run.config.update(dict(values), allow_val_change=True)

    def finish(self, failed: bool) -> None:
        self._run.finish(exit_code=1 if failed else 0)


class _MLflow(_Other):
    def __init__(self, run: Mirrored) -> None:
        mlflow: Any = importlib.import_module("mlflow")
        self._entities = importlib.import_module("mlflow.entities")
        self._client = mlflow.MlflowClient()
        found = self._client.get_experiment_by_name(run.project)
        own = found.experiment_id if found is not None else self._client.create_experiment(run.project)
        tags = {"svc.run": str(run.id), **({"mlflow.note.content": run.notes} if run.notes else {})}
        self._id = self._client.create_run(own, run_name=run.name, tags=tags).info.run_id
        self.config(dict(run.config))

    def log(self, data: Mapping[str, Any], step: int) -> None:
        at, metric = now_ms(), self._entities.Metric
        metrics = [metric(name, value, at, step) for name, value in numbers_in(data).items()]
        self._client.log_batch(self._id, metrics=metrics)

    def config(self, values: Mapping[str, Any]) -> None:
        param = self._entities.Param
        params = [param(name, str(value)) for name, value in flattened(values)]
        for at in range(0, len(params), 100):
            self._client.log_batch(self._id, params=params[at : at + 100])

    def finish(self, failed: bool) -> None:
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")


class _TensorBoard(_Other):
    def __init__(self, run: Mirrored) -> None:
        self._writer: Any = _writer_class()(f"runs/{run.id}")
        self._config = dict(run.config)
        self._tell()

    def log(self, data: Mapping[str, Any], step: int) -> None:
        for name, value in numbers_in(data).items():
            self._writer.add_scalar(name, value, step)

    def config(self, values: Mapping[str, Any]) -> None:
        self._config.update(values)
        self._tell()

    def _tell(self) -> None:
        if self._config:
            lines = "\n".join(f"    {name}: {value}" for name, value in flattened(self._config))
            self._writer.add_text("config", lines)

    def finish(self, failed: bool) -> None:
        self._writer.close()


def _writer_class() -> Any:
    for name in ("torch.utils.tensorboard", "tensorboardX"):
        try:
            return importlib.import_module(name).SummaryWriter
        except ImportError:
            continue
    raise ImportError("install tensorboardX, or torch with tensorboard")
