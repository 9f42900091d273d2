"""The task function of a Hydra job that works on a trial of a sweep. It is pickled for launchers of other processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hydra.core.hydra_config import HydraConfig

from .._run import trial as _trial
from .._run.run import current_run
from .._run.start import init
from .._run.trial import Trial
from .._sweeps.sweep import Sweep
from .._sweeps.sweeps import end_run


class Task:
    """Calls the task function for the trial of the job's number. A number that it returns is the metric."""

    def __init__(self, function: Callable[[Any], Any], trials: dict[int, Trial]) -> None:
        self._function = function
        self._trials = trials

    def __call__(self, config: Any) -> Any:
        trial = self._trials[int(HydraConfig.get().job.num)]
        _trial.begin(trial, Sweep.of(trial.sweep_id).hold(trial))
        try:
            try:
                result = self._function(config)
            except BaseException as error:
                end_run(error)
                raise
            _note_result(trial, result)
            end_run(None)
            return result
        finally:
            _trial.end()


def _note_result(trial: Trial, result: Any) -> None:
    if isinstance(result, bool) or not isinstance(result, (int, float)) or not math.isfinite(result):
        return
    run = current_run()
    if run is None and not trial.reported:
        run = init(quiet=True, console=False, environment=False)
    if run is not None and not trial.values:
        run.log({trial.metric: float(result)})
