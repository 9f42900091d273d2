"""What to try next, and what to give up: Optuna's samplers and pruners over the trials that the service has.

No sampler of our own. Optuna is imported at the first use; grid and random search work without it.
"""

from __future__ import annotations

import importlib
import math
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_STATEFUL = ("cmaes", "nsga2")
"""Samplers that keep their state, such as the generation of each trial, in the trials of a study."""
_ASKED_AGAIN = 1_000
"""Trials of earlier workers for which such a sampler is asked again: each takes some milliseconds."""
_SCIPY = {"cmaes": "cmaes", "gp": "scipy torch", "qmc": "scipy"}


class NeedsPackage(ImportError):
    """A package that the method needs is not installed."""


def _optuna(method: str) -> Any:
    more = f" {_SCIPY[method]}" if method in _SCIPY else ""
    try:
        optuna = importlib.import_module("optuna")
        if method == "cmaes":
            importlib.import_module("cmaes")
    except ImportError as error:
        raise NeedsPackage(
            f"the method {method} needs Optuna: pip install optuna{more} (grid and random work without)"
        ) from error
    optuna.logging.disable_default_handler()
    return optuna


class Study:
    """An Optuna study of this process with the trials of the sweep, brought up to date before each use.

    One study proposes, another one prunes: there the trials have the numbers of the service, which brackets depend on.
    """

    def __init__(self, sweep: Mapping[str, Any], *, proposes: bool = True) -> None:
        self._sweep = sweep
        method = sweep["method"] if proposes else "random"
        self._keeps_state = method in _STATEFUL
        optuna = self._optuna = _optuna(method)
        self._axes = {name: _axis(optuna, given) for name, given in sweep["parameters"].items()}
        seed = zlib.crc32(str(sweep["id"]).encode())
        self._known = 0
        self._study = optuna.create_study(
            study_name=str(sweep["id"]),
            direction=sweep["metric"]["goal"],
            sampler=self._sampler(method, seed),
            pruner=self._pruner(),
        )
        self._ids: dict[int, int] = {}
        """Optuna's id of each trial, by number."""
        self._open: set[int] = set()
        self._last_step: dict[int, int] = {}
        self._has_rungs = type(self._study.pruner).__name__ == "HyperbandPruner"

    def _sampler(self, method: str, seed: int) -> Any:
        samplers = self._optuna.samplers
        if method == "cmaes":
            return samplers.CmaEsSampler(seed=None, warn_independent_sampling=False)
        if method == "gp":
            return samplers.GPSampler()
        if method == "nsga2":
            return samplers.NSGAIISampler(population_size=self._population())
        if method == "qmc":
            # All workers draw from one sequence: the same seed, and the number of known trials as the place in it.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it is experimental
                sampler = samplers.QMCSampler(scramble=True, seed=seed, warn_independent_sampling=False)
            sampler._find_sample_id = lambda _study, _space: max(0, self._known - 1)
            return sampler
        if method == "tpe":
            # Trials that run count as bad, so that parallel workers do not repeat each other.
            return samplers.TPESampler(constant_liar=True)
        return samplers.RandomSampler()

    def _population(self) -> int:
        """Optuna's 50, or fewer so that a small budget has several generations."""
        budget = self._sweep.get("max_trials")
        return 50 if budget is None else min(50, max(8, int(budget) // 8))

    def _pruner(self) -> Any:
        given = dict(self._sweep.get("early_stopping") or {})
        pruners = self._optuna.pruners
        kind = given.get("type")
        if kind == "hyperband":
            most = given.get("max_iter", "auto")
            least = int(given.get("min_iter", given.get("min_steps", 1)) or 1)
            return pruners.HyperbandPruner(
                min_resource=least, max_resource=most, reduction_factor=int(given.get("eta", 3))
            )
        common = {
            "n_startup_trials": int(given.get("startup_trials", 5)),
            "n_warmup_steps": int(given.get("min_steps", 0)),
            "interval_steps": int(given.get("interval", 1)),
        }
        if kind == "percentile":
            return pruners.PercentilePruner(float(given.get("percentile", 25.0)), **common)
        if kind == "median":
            return pruners.MedianPruner(**common)
        return pruners.NopPruner()

    def update(self, trials: Sequence[Mapping[str, Any]]) -> None:
        """Take trials as the service lists them; those that are known and have ended do not change."""
        for left, trial in zip(
            range(len(trials), 0, -1), sorted(trials, key=lambda one: int(one["number"])), strict=True
        ):
            number = int(trial["number"])
            if number not in self._ids:
                self._add(number, trial, with_state=self._keeps_state and left <= _ASKED_AGAIN)
            elif number not in self._open:
                continue
            self._note_values(number, trial.get("intermediate") or ())
            self._settle(number, trial)
        self._known = max([self._known, *(number + 1 for number in self._ids)])

    def _add(self, number: int, trial: Mapping[str, Any], *, with_state: bool) -> None:
        optuna = self._optuna
        params = {
            name: axis.inside(trial["params"][name])
            for name, axis in self._axes.items()
            if axis.distribution is not None and name in trial["params"] and axis.holds(trial["params"][name])
        }
        distributions = {name: self._axes[name].distribution for name in params}
        if with_state:
            self._ids[number] = self._asked_again(params, distributions)
        else:
            frozen = optuna.trial.create_trial(
                state=optuna.trial.TrialState.RUNNING, params=params, distributions=distributions
            )
            self._ids[number] = self._study._storage.create_new_trial(self._study._study_id, template_trial=frozen)
        self._open.add(number)

    def _asked_again(self, params: Mapping[str, Any], distributions: Mapping[str, Any]) -> int:
        """Ask the sampler again for a trial of any worker, so that it has the state of a single process."""
        study, storage = self._study, self._study._storage
        trial_id: int = study.ask()._trial_id
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = storage.get_trial(trial_id)
            study.sampler.sample_relative(study, asked, study.sampler.infer_relative_search_space(study, asked))
        for name, value in params.items():
            one = distributions[name]
            storage.set_trial_param(trial_id, name, one.to_internal_repr(value), one)
        return trial_id

    def _note_values(self, number: int, values: Iterable[Sequence[Any]]) -> bool:
        """Store values that are new, in the order of their steps. Whether the pruner gives the trial up at the last.

        Hyperband compares what trials had at its rungs, which the pruner notes only when it is asked at each step.
        """
        storage, trial_id, last = self._study._storage, self._ids[number], self._last_step.get(number, -1)
        worse = False
        for step, value in values:
            if step <= last or not isinstance(value, (int, float)) or not math.isfinite(value):
                continue
            storage.set_trial_intermediate_value(trial_id, int(step), float(value))
            self._last_step[number] = int(step)
            if self._has_rungs:
                worse = self._prune(number)
        return worse

    def _prune(self, number: int) -> bool:
        frozen = self._study._storage.get_trial(self._ids[number])
        return bool(frozen.intermediate_values) and bool(self._study.pruner.prune(self._study, frozen))

    def _settle(self, number: int, trial: Mapping[str, Any]) -> None:
        state, value = trial["state"], trial.get("value")
        states = self._optuna.trial.TrialState
        if state in ("running", "lost", "queued"):
            return
        usable = isinstance(value, (int, float)) and math.isfinite(value)
        ended, values = states.FAIL, None
        if state in ("completed", "pruned") and usable:
            ended, values = (states.COMPLETE if state == "completed" else states.PRUNED), [float(value or 0)]
        self._study._storage.set_trial_state_values(self._ids[number], ended, values)
        self._open.discard(number)

    def propose(self) -> dict[str, Any]:
        """The next parameters, in the values of the sweep."""
        distributions = {name: axis.distribution for name, axis in self._axes.items() if axis.distribution is not None}
        made = self._study.ask(distributions)
        # It is added with its number once the service has reserved it.
        self._study._storage.set_trial_state_values(made._trial_id, self._optuna.trial.TrialState.FAIL)
        params = {name: axis.outside(made.params.get(name)) for name, axis in self._axes.items()}
        return self._active(params)

    def _active(self, params: dict[str, Any]) -> dict[str, Any]:
        """Without the parameters whose condition does not hold."""
        given = self._sweep["parameters"]
        kept = dict(params)
        for _ in kept:  # a parameter that is left out may be the condition of another one
            held = {
                name: value
                for name, value in kept.items()
                if all(on in kept and kept[on] in allowed for on, allowed in (given[name].get("when") or {}).items())
            }
            if len(held) == len(kept):
                break
            kept = held
        return kept

    def is_worse(self, number: int, values: Mapping[int, float]) -> bool:
        """Whether the pruner gives up this trial; `values` are those that it has reported, by step."""
        if number not in self._ids or number not in self._open:
            return False
        worse = self._note_values(number, sorted(values.items()))
        return worse if self._has_rungs else self._prune(number)


class _axis:
    """One parameter: its distribution, and its values inside Optuna and outside."""

    def __init__(self, optuna: Any, given: Mapping[str, Any]) -> None:
        kinds = optuna.distributions
        self._choices: list[Any] | None = None
        self._step: float | None = None
        self.distribution: Any = None
        if "min" not in given:
            self._choices = list(given["values"]) if "values" in given else [given["value"]]
            if len(self._choices) > 1:
                self.distribution = kinds.CategoricalDistribution(tuple(range(len(self._choices))))
            return
        low, high, kind, step = given["min"], given["max"], given.get("distribution"), given.get("q")
        self._low, self._high = low, high
        whole = all(float(number).is_integer() for number in (low, high, step or 1))
        is_int = whole if kind is None else kind.startswith("int_")
        is_log = kind is not None and "log" in kind
        if step is None and kind is not None and kind.startswith("q_"):
            step = 1
        if is_int:
            every = int(step or 1)
            last = int(low) + (int(high) - int(low)) // every * every
            self._step = every if is_log and every > 1 else None
            self.distribution = kinds.IntDistribution(int(low), last, log=is_log, step=1 if is_log else every)
        elif is_log:
            self._step = step
            self.distribution = kinds.FloatDistribution(float(low), float(high), log=True)
        else:
            if step is not None:
                high = low + math.floor((high - low) / step + 1e-9) * step
            self.distribution = kinds.FloatDistribution(float(low), float(high), step=step)

    def holds(self, value: Any) -> bool:
        """Whether a trial of an earlier space has a value of this one."""
        if self._choices is not None:
            return any(one == value for one in self._choices)
        if not isinstance(value, (int, float)):
            return False
        slack = 1e-9 * max(abs(self._low), abs(self._high))
        return bool(self._low - slack <= value <= self._high + slack)

    def inside(self, value: Any) -> Any:
        if self._choices is not None:
            return next(
                (at for at, one in enumerate(self._choices) if one == value and type(one) is type(value)),
                next((at for at, one in enumerate(self._choices) if one == value), 0),
            )
        number = min(max(value, self.distribution.low), self.distribution.high)
        return int(number) if type(self.distribution).__name__ == "IntDistribution" else float(number)

    def outside(self, value: Any) -> Any:
        if self._choices is not None:
            return self._choices[0 if value is None else value]
        if self._step is not None:
            steps = math.floor((self._high - self._low) / self._step + 1e-9)
            value = self._low + min(steps, round((value - self._low) / self._step)) * self._step
            return int(value) if isinstance(self._step, int) and isinstance(self._low, int) else round(value, 12)
        return value
