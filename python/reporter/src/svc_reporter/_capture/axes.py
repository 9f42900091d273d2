"""The steps of metrics: the values of the x-axis of their charts."""

from __future__ import annotations

import enum
import fnmatch
import math
import operator
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._shared.plain import MAX_ITEMS, entries_of, plain
from .metric_values import NAME_LIMIT, media_in

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_EXACT = 2**53
MAX_STEP = _EXACT - 1
STEP_RANGE = "from -(2^53 - 1) to 2^53 - 1"
_MAX_NAMES = 10_000
_MAX_DEFINED = 100
RESERVED = {"epoch": "axis/epoch"}
"""The service calls the step `epoch`, so a metric with that name is renamed."""


@dataclass(frozen=True)
class Metric:
    """One call of `define_metric`: applies to the metrics that match `pattern`."""

    pattern: str
    step: str | None
    goal: str | None
    summary: tuple[str, ...] = ()
    """W&B's words for what the summary has of it: `max`, `min`, `mean`, `first`, `last`; `none` alone."""


class Axes:
    """Assigns steps to values. A metric may use the value of another metric as its step."""

    def __init__(self, warn: Callable[[str, str], None]) -> None:
        self._warn = warn
        self._metrics: list[Metric] = []
        self._last_of: dict[str, float] = {}
        self.as_wandb = False
        """Whether steps are W&B's: they only increase, and a step that a call names stays open for the next call."""
        self._at = -1
        self._logged_at = -1
        self._is_open = False
        """Whether a call without a step gets the step of the last one, instead of the next: it had `commit=False`."""
        self._is_named = False
        """Whether the last call named its step, without `commit`."""
        self._simple: set[str] = set()
        """Names of metrics that need no further checks: valid, and with the main step."""
        self._lock = threading.RLock()

    def define(self, metric: Metric) -> None:
        """Add a definition; it takes precedence over earlier ones."""
        self._metrics.insert(0, metric)
        self._simple = set()

    def continue_after(self, step: int) -> None:
        """Let calls without a step continue after `step`, which an earlier process has recorded."""
        with self._lock:
            self._at = self._logged_at = max(self._at, step)
            self._is_open = self._is_named = False

    @property
    def named_step(self) -> int | None:
        """The step that the last call named; None if it named none."""
        return self._at if self._is_named else None

    @property
    def last_step(self) -> int:
        """The main step of the last call."""
        return self._logged_at

    @property
    def next_step(self) -> int:
        """The step of the next call that names none."""
        return self._at if self._is_open else min(self._at + 1, MAX_STEP)

    def units(self) -> dict[str, str]:
        """By pattern: the metric that is used as the step; in order of precedence."""
        return {metric.pattern: metric.step for metric in self._metrics if metric.step}

    def main(self) -> list[str]:
        """The patterns of the metrics that were defined."""
        return list(dict.fromkeys(metric.pattern for metric in reversed(self._metrics)))[:_MAX_DEFINED]

    def goal_of(self, name: str) -> str | None:
        return next((m.goal for m in self._metrics if m.goal and fnmatch.fnmatchcase(name, m.pattern)), None)

    def summary_of(self, name: str) -> tuple[str, ...]:
        return next((m.summary for m in self._metrics if m.summary and fnmatch.fnmatchcase(name, m.pattern)), ())

    def rows(self, data: Mapping[str, Any], step: Any, commit: bool | None = None) -> dict[int, dict[str, Any]]:
        """The values by step. Values that are no numbers get the main step.

        As with W&B, a call that has `commit=False` leaves its step open for the next one without a step.
        """
        with self._lock:
            return self._rows(data, step, commit)

    def simple_row(
        self, data: Mapping[str, Any], step: Any, commit: bool | None = None
    ) -> tuple[int, dict[str, Any]] | None:
        """The step and a copy of `data`, or None if it needs the checks of `rows`.

        Most calls log a dictionary of finite numbers with names that `rows` has checked before; this is the fast path.
        """
        if type(data) is not dict or not data:
            return None
        if step is None:
            at = self._at if self._is_open else self._at + 1
        elif type(step) is int:
            at = step
        else:
            return None
        if not -MAX_STEP <= at <= MAX_STEP:
            return None
        simple = self._simple
        for name, value in data.items():
            kind = type(value)
            if (
                not ((kind is float and value - value == 0.0) or (kind is int and -_EXACT < value < _EXACT))
                or name not in simple
            ):
                return None
        with self._lock:
            at = self._take(None if step is None else at, commit)
            self._last_of.update(data)
            return at, data.copy()

    def _take(self, step: int | None, commit: bool | None) -> int:
        """The step of a call that names `step` or none; the next calls follow it."""
        if step is None:
            step = self._at = self.next_step
            self._is_named, self._is_open = False, commit is False
        elif not self.as_wandb:
            self._at = step
            self._is_named, self._is_open = commit is None, commit is False
        elif step >= self.next_step:
            self._at = step
            self._is_open = commit is not True
        self._logged_at = step
        return step

    def _rows(self, data: Mapping[str, Any], step: Any, commit: bool | None = None) -> dict[int, dict[str, Any]]:
        main, fraction = self._main_step(step, commit)
        numbers: dict[str, float] = {} if fraction is None else {"step": fraction}
        rows: dict[int, dict[str, Any]] = {main: {}}
        for name, value in flattened(data):
            media = media_in(value)
            if media is not None:
                rows.setdefault(self._step_of(name, main), {})[name] = media
                continue
            number = number_of(value)
            if number is None:  # the job warns of it
                rows[main][name] = plain(value)
            else:
                numbers[name] = number
        for name, value in numbers.items():
            if math.isfinite(value) and (name in self._last_of or len(self._last_of) < _MAX_NAMES):
                self._last_of[name] = value
        for name, value in numbers.items():
            shown = RESERVED.get(name, name)
            at = self._step_of(name, main)
            rows.setdefault(at, {})[shown] = plain(value)
            is_own = name in data and shown == name and 0 < len(name) <= NAME_LIMIT
            if is_own and self._axis_of(name) is None and len(self._simple) < _MAX_NAMES:
                self._simple.add(name)
        return {at: row for at, row in rows.items() if row}

    def _main_step(self, step: Any, commit: bool | None) -> tuple[int, float | None]:
        """The step, by default the last one plus 1; and the given number if it is no whole number, else None."""
        at = None if step is None else whole(step)
        if step is None or at is not None:
            return self._take(at, commit), None
        fraction = number_of(step)
        self._at = self._logged_at = min(self._at + 1, MAX_STEP)
        self._is_named, self._is_open = commit is None, commit is False
        if fraction is None or not math.isfinite(fraction):
            self._warn("a step", f"a step must be a number, got {plain(step)!r}; the call gets the next whole number")
            return self._at, None
        what = f"is not {STEP_RANGE}" if fraction == int(fraction) else "is not a whole number"
        self._warn(
            "a fraction",
            f"the step {fraction} {what}: it is stored as the series `step`, the call gets the next number",
        )
        return self._at, fraction

    def _step_of(self, name: str, main: int) -> int:
        axis = self._axis_of(name)
        if axis is None:
            return main
        value = self._last_of.get(axis)
        at = None if value is None else whole(value)
        if at is None:
            self._warn(
                f"axis {axis}", f"{name} uses {axis} as its step, which has no whole number yet; it gets the main step"
            )
            return main
        return at

    def _axis_of(self, name: str) -> str | None:
        axis = next((m.step for m in self._metrics if m.step and fnmatch.fnmatchcase(name, m.pattern)), None)
        return None if axis == name else axis


def flattened(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """`{"val": {"acc": 1}}` → `("val/acc", 1)`; leaves out None."""
    for key, value in (entries_of(data) or {}).items():
        if type(value) is dict and any(media_in(inner) is not None for inner in value.values()):
            for name, inner in value.items():
                yield f"{key}/{name}", inner
        elif type(value) is dict and _is_group(value):
            for name, number in value.items():
                yield f"{key}/{name}", number
        elif isinstance(value, Mapping):
            yield from _inner(plain(value), f"{key}/")  # as JSON data it has no cycle and a bounded size
        elif value is not None:
            yield key, value


def _is_group(values: dict[Any, Any]) -> bool:
    """Whether these are simple numbers by name, which need no conversion."""
    return len(values) <= MAX_ITEMS and all(
        type(name) is str and type(value) in (float, int) for name, value in values.items()
    )


def _inner(data: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(data, dict):
        yield prefix[:-1], data
        return
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _inner(value, f"{prefix}{key}/")
        elif value is not None:
            yield prefix + key, _NON_FINITE.get(value, value) if isinstance(value, str) else value


def number_of(value: Any) -> float | None:
    """The number of a float, int, bool, enum, or NumPy or torch scalar; None for other values."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (str, bytes)):
        return None
    made = plain(value)
    if isinstance(made, list) and len(made) == 1:
        made = made[0]
    if isinstance(made, bool):
        return int(made)
    if isinstance(made, (int, float)):
        return made
    return _NON_FINITE.get(made) if isinstance(made, str) else None


def whole(value: Any) -> int | None:
    """The value as int if it is a whole number in the range of the service, else None."""
    try:
        number = operator.index(value)
    except Exception:
        found = number_of(value)
        if found is None or not math.isfinite(found) or found != int(found):
            return None
        number = int(found)
    return number if -MAX_STEP <= number <= MAX_STEP else None
