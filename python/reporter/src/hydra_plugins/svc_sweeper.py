"""A sweeper for Hydra: `hydra/sweeper=svc`. Hydra finds plugins in this namespace package, which has no __init__.py.

    python train.py -m hydra/sweeper=svc hydra.sweeper.project=digits hydra.sweeper.metric=val_loss \\
        'lr=tag(log, interval(1e-5, 1e-1))' 'depth=choice(2, 4)'

Several machines work on one sweep with `hydra.sweeper.sweep=ID`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from svc_reporter._sweeps.sweep import Sweep
from svc_reporter._sweeps.sweep_config import flattened, scalar
from svc_reporter._sweeps.sweeps import create
from svc_reporter.integrations._hydra_task import Task

DEFAULTS: dict[str, Any] = {
    "_target_": "hydra_plugins.svc_sweeper.SvcSweeper",
    "project": None,
    "name": "Hydra",
    # The id of a sweep to work on; without it a new one is created.
    "sweep": None,
    "method": "random",
    # The metric that is compared; a number that the task function returns counts as this one.
    "metric": "objective",
    "direction": "minimize",
    # Default: every combination of a grid, and 20 of other methods.
    "n_trials": None,
    # Trials that the launcher gets at once.
    "n_jobs": 1,
    "early_stopping": None,
    "params": {},
}
ConfigStore.instance().store(group="hydra/sweeper", name="svc", node=DEFAULTS, provider="svc_sweeper")


class SvcSweeper(Sweeper):  # type: ignore[misc,unused-ignore]  # Hydra may not be installed
    """Asks the service for trial after trial, and gives each to the launcher as overrides."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self._settings = settings
        self._context: HydraContext | None = None
        self._config: DictConfig | None = None
        self._function: TaskFunction | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self._context, self._function, self._config = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> Any:
        assert self._context is not None
        assert self._config is not None
        assert self._function is not None
        parser = OverridesParser.create(config_loader=self._context.config_loader)
        overrides = parser.parse_overrides(arguments)
        fixed = [f"{one.input_line}" for one in overrides if not one.is_sweep_override()]
        sweep = self._sweep([one for one in overrides if one.is_sweep_override()])
        folder = Path(self._config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self._config, folder / "multirun.yaml")
        index = 0
        returns: list[Any] = []
        while True:
            asked = (sweep.reserve() for _ in range(max(1, int(self._settings["n_jobs"]))))
            trials = [trial for trial in asked if trial is not None]
            if not trials:
                return returns
            task = Task(self._function, {index + nth: trial for nth, trial in enumerate(trials)})
            batch = [[*fixed, *(_override(name, value) for name, value in trial.params.items())] for trial in trials]
            launcher = Plugins.instance().instantiate_launcher(
                hydra_context=self._context, task_function=task, config=self._config
            )
            # The trials of jobs that run elsewhere are kept from here, too.
            held = [sweep.hold(trial) for trial in trials]
            try:
                returns.append(launcher.launch(batch, initial_job_idx=index))
            finally:
                for one in held:
                    if one is not None:
                        one.end()
            index += len(trials)

    def _sweep(self, overrides: list[Override]) -> Sweep:
        given = self._settings
        if given["sweep"]:
            if overrides:
                raise HydraException("hydra.sweeper.sweep names a sweep that has a space: leave the ranges out")
            return Sweep.of(given["sweep"])
        params = {**(given["params"] or {}), **{one.get_key_element(): _space(one) for one in overrides}}
        if not params:
            raise HydraException("the sweep has no parameters: give ranges, or hydra.sweeper.params")
        stopping = given["early_stopping"]
        sweep = create(
            {
                "name": given["name"],
                "method": given["method"],
                "metric": {"name": given["metric"], "goal": given["direction"]},
                "max_trials": given["n_trials"] or (None if given["method"] == "grid" else 20),
                "parameters": flattened({name.lstrip("+"): _plain(value) for name, value in params.items()}),
                **({"early_stopping": _plain(stopping)} if stopping else {}),
            },
            given["project"],
        )
        print(f"svc: sweep {sweep.id}: {sweep.url}")  # noqa: T201 - as the launchers print
        return sweep


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _space(override: Override) -> Any:
    """The range of an override, as the definition of a sweep has it."""
    if override.is_discrete_sweep():
        return {"values": [scalar(text) for text in override.sweep_string_iterator()]}
    return str(override.input_line).split("=", 1)[1].strip()


def _override(name: str, value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"++{name}='{escaped}'"
    if value is None:
        return f"++{name}=null"
    if isinstance(value, bool):
        return f"++{name}={str(value).lower()}"
    if isinstance(value, (list, dict)):
        return f"++{name}={value}"
    return f"++{name}={value!r}"
