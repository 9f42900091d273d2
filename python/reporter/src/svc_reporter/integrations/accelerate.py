"""Accelerate: `Accelerator(log_with=SvcTracker(run))`."""

from __future__ import annotations

from typing import Any

from accelerate.tracking import GeneralTracker

from .._run.reporter import Reporter
from .._run.run import Run
from ._training import Training, simple_params


class SvcTracker(GeneralTracker):
    """Records `accelerator.log(values, step=step)`; the config of `init_trackers` becomes the job's parameters.

    `accelerator.end_training()` ends the job. Without it, the run's end calls the job failed: nothing reported that the
    training was over. Only the main process reports.
    """

    name = "svc"
    requires_logging_directory = False
    main_process_only = True

    def __init__(
        self, run: Reporter | Run | None = None, *, project: str | None = None, job_id: str = "train", **reporter: Any
    ) -> None:
        super().__init__()
        self._training = Training(run, project, job_id, reporter)
        self._config: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._step = -1

    @property
    def tracker(self) -> Reporter | Run:
        return self._training.given

    def start(self) -> None:
        return

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        self._config.update(simple_params(values or {}))
        self._begin()

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        self._begin()
        self._step = self._step + 1 if step is None else int(step)
        self._last.update(values)
        self._training.record(self._step, values)

    def finish(self) -> None:
        self._training.end(self._last)
        self._training.close()

    def _begin(self) -> None:
        if not self._training.is_open:
            self._training.begin(None, params=self._config)
