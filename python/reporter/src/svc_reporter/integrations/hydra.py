"""Hydra: every job of a run or multirun becomes a job of one batch, with its configuration as parameters.

    python train.py +hydra.callbacks.svc._target_=svc_reporter.integrations.hydra.SvcCallback \\
                    +hydra.callbacks.svc.project=vision

Within the task function, `current_job()` is the job, for `epoch` and `log`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hydra.core.utils import JobStatus
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf

from .._run.job import Job
from .._shared.plain import entries_of, plain_entries
from ._training import OpenedRun

_current: Job | None = None


def current_job() -> Job | None:
    """The job of the task function that runs in this process; None without the callback."""
    return _current


def job_params(config: Any) -> dict[str, Any]:
    """A configuration as parameters: resolved, groups as `model.lr`, and a missing value (`???`) left out."""
    entries = entries_of(config) or {}
    entries.pop("hydra", None)  # Hydra's own settings
    return dict(_flattened(plain_entries(entries), ""))


def _flattened(values: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        elif value != "???":
            yield f"{prefix}{key}", value


class SvcCallback(Callback):
    """`project`, `name`, `group`, `notes` and further arguments of a Reporter.

    Prints the address of the run. A process with SVC_BATCH_ID joins that batch.
    """

    def __init__(self, project: str, **reporter: Any) -> None:
        self._opened = OpenedRun(project, reporter)
        self._run = self._opened.reporter

    def on_multirun_start(self, config: Any, **kwargs: Any) -> None:
        self._opened.print_start()  # here, because a launcher's processes each have a copy of this callback

    def on_job_start(self, config: Any, *, task_function: Any = None, **kwargs: Any) -> None:
        global _current
        hydra = config.get("hydra") or _hydra_config()
        number = OmegaConf.select(hydra, "job.num", default=None) if hydra is not None else None
        name = OmegaConf.select(hydra, "job.override_dirname", default="") if hydra is not None else ""
        job_id = name or (f"job-{number}" if number is not None else "job")
        self._opened.print_start()
        _current = self._run.job(job_id, **job_params(config))
        _current.begin()

    def on_job_end(self, config: Any, job_return: Any, **kwargs: Any) -> None:
        global _current
        job, _current = _current, None
        if job is None:
            return
        if job_return.status == JobStatus.COMPLETED:
            value = job_return._return_value
            job.done({"return_value": value} if isinstance(value, (int, float)) else None)
        else:
            job.fail(job_return._return_value)

    def on_run_end(self, config: Any, **kwargs: Any) -> None:
        self._run.close()

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        self._run.close()


def _hydra_config() -> Any:
    from hydra.core.hydra_config import HydraConfig

    return HydraConfig.get() if HydraConfig.initialized() else None
