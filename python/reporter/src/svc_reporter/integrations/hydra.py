"""Hydra: every job of a run or multirun becomes a job of one batch, with its configuration as parameters.

    python train.py +hydra.callbacks.svc._target_=svc_reporter.integrations.hydra.SvcCallback \\
                    +hydra.callbacks.svc.project=vision

Within the task function, `current_job()` is the job, for `epoch` and `log`.
"""

from __future__ import annotations

from typing import Any

from hydra.core.utils import JobStatus
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf

from .._job import Job
from .._reporter import Reporter

_current: Job | None = None


def current_job() -> Job | None:
    """The job of the task function that runs in this process; None without the callback."""
    return _current


def job_params(config: Any) -> dict[str, Any]:
    """A configuration as parameters: resolved, and a missing value (`???`) left out."""
    try:
        values = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)
    except Exception:  # an interpolation that cannot be resolved: it is shown as it is written
        values = OmegaConf.to_container(config, resolve=False, throw_on_missing=False)
    return {str(k): v for k, v in values.items() if v != "???"} if isinstance(values, dict) else {}


class SvcCallback(Callback):
    """`project` and further arguments of a Reporter; a process with SVC_BATCH_ID joins that batch."""

    def __init__(self, project: str, **reporter: Any) -> None:
        self._run = Reporter(project, **reporter)
        self._many = False

    def on_multirun_start(self, config: Any, **kwargs: Any) -> None:
        self._many = True

    def on_job_start(self, config: Any, *, task_function: Any = None, **kwargs: Any) -> None:
        global _current
        hydra = config.get("hydra") or _hydra_config()
        number = OmegaConf.select(hydra, "job.num", default=None) if hydra is not None else None
        name = OmegaConf.select(hydra, "job.override_dirname", default="") if hydra is not None else ""
        job_id = name or (f"job-{number}" if number is not None else "job")
        params = {key: value for key, value in job_params(config).items() if key != "hydra"}
        _current = self._run.job(job_id, **params)
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
