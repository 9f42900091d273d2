"""The summary of a run: values that it sets, and the last, min, max and best value of each metric."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from .._shared.plain import entries_of, plain, text_of

MAX_METRICS = 1_000
_TEXT_LIMIT = 1_000
_NOTHING = ("none",)
"""W&B's word for a metric that its summary leaves out."""
_LESS_IS_BETTER = ("loss", "err", "perplexity", "ppl", "mae", "mse", "rmse", "nll", "wer", "cer", "fid", "time")
_MORE_IS_BETTER = ("acc", "auc", "f1", "precision", "recall", "score", "reward", "bleu", "rouge", "map", "iou", "r2")


class Summary(MutableMapping[str, Any]):
    """`run.summary["best_acc"] = best`. A metric that was not set reads as its last logged value.

    `run.summary.of("loss")` returns the last, min, max and best finite value of a metric. The best is the min or the
    max, as `define_metric(goal=...)` says or the name suggests (`loss`, `acc`), else missing.
    """

    def __init__(self, goal_of: Callable[[str], str | None] = lambda _metric: None) -> None:
        self._goal_of = goal_of
        self._set: dict[str, Any] = {}
        self._seen: dict[str, _Seen] = {}
        self._texts: dict[str, str] = {}
        self._words_of: Callable[[str], tuple[str, ...]] | None = None
        """By metric: what W&B's summary has of it. None in scripts that do not call this package `wandb`."""
        self._lock = threading.RLock()

    def be_as_wandb(self, words_of: Callable[[str], tuple[str, ...]]) -> None:
        """Read as W&B's summary: `define_metric(summary="max")` makes `{"max": ...}`, and the later one counts.

        The value that was set last stays until the metric is logged again. Logged texts are kept, too.
        """
        self._words_of = words_of

    def __getitem__(self, key: str) -> Any:
        if key in self._set:
            return self._set[key]
        seen = self._seen.get(key)
        words = self._words(key)
        if seen is not None and words != _NOTHING:
            return {word: seen.of(word) for word in words} if words else plain(seen.last)
        if key in self._texts:
            return self._texts[key]
        inner = self._group(f"{key}/")
        if not inner:
            raise KeyError(key)
        return inner

    def _words(self, metric: str) -> tuple[str, ...]:
        return self._words_of(metric) if self._words_of is not None else ()

    def _group(self, prefix: str) -> dict[str, Any]:
        """Metrics that were logged as nested dictionaries, read as W&B has them."""
        if self._words_of is None:
            return {}
        return {name[len(prefix) :]: self[name] for name in self if name.startswith(prefix)}

    def __setitem__(self, key: str, value: Any) -> None:
        self._set[text_of(key)] = plain(value)

    def __delitem__(self, key: str) -> None:
        del self._set[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"summary has no {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self[name] = value

    def update(self, *values: Any, **more: Any) -> None:
        """Like dict.update."""
        for given in values:
            entries = entries_of(given)
            for key, value in given if entries is None else entries.items():
                self[key] = value
        for key, value in more.items():
            self[key] = value

    def __iter__(self) -> Iterator[str]:
        seen = (metric for metric in self._seen if self._words(metric) != _NOTHING)
        return iter(dict.fromkeys([*self._set, *seen, *self._texts]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Summary({dict(self)!r})"

    def of(self, metric: str) -> dict[str, Any]:
        """`{"last", "min", "max", "best"}`, as far as known. Raises KeyError for a metric that was never logged."""
        seen = self._seen[metric]
        found = {"last": plain(seen.last)}
        if seen.least <= seen.greatest:
            found.update(min=seen.least, max=seen.greatest)
        goal = self._goal_of(metric) or guessed_goal(metric)
        return found if goal is None or goal not in found else {**found, "best": found[goal]}

    def note(self, row: Mapping[str, Any]) -> None:
        """Add logged values; others than numbers, "NaN" and infinities are ignored."""
        with self._lock:
            if self._words_of is not None:
                self._take_as_wandb(row)
            for metric, value in row.items():
                if type(value) is not float:
                    value = _number(value)
                    if value is None:
                        continue
                seen = self._seen.get(metric)
                if seen is None:
                    if len(self._seen) >= MAX_METRICS:
                        continue
                    seen = self._seen[metric] = _Seen()
                seen.last = value
                if self._words_of is not None:
                    seen.add(value)
                if value - value == 0.0:  # finite
                    if value < seen.least:
                        seen.least = value
                    if value > seen.greatest:
                        seen.greatest = value

    def _take_as_wandb(self, row: Mapping[str, Any]) -> None:
        for metric, value in row.items():
            self._set.pop(metric, None)
            if type(value) is str and _number(value) is None and len(self._texts) < MAX_METRICS:
                self._texts[metric] = value[:_TEXT_LIMIT]

    def as_set(self) -> dict[str, Any]:
        """The values that the run has set."""
        return dict(self._set)

    def as_data(self) -> dict[str, Any]:
        """What is sent: `{"loss": {"last": ..., "min": ..., "max": ..., "best": ...}, "best_acc": 0.93}`.

        `shown` lists what W&B's summary has of a metric, if that is not its last value alone.
        """
        with self._lock:
            return {**{metric: self._sent(metric) for metric in self._seen}, **self._texts, **self._set}

    def _sent(self, metric: str) -> dict[str, Any]:
        words = self._words(metric)
        found = self.of(metric)
        if not words:
            return found
        shown = [] if words == _NOTHING else list(words)
        return {**found, **{word: self._seen[metric].of(word) for word in shown}, "shown": shown}


class _Seen:
    """The values of one metric. `least` is greater than `greatest` until a finite value is logged."""

    __slots__ = ("count", "first", "greatest", "last", "least", "total")

    def __init__(self) -> None:
        self.first: float | None = None
        self.last = math.nan
        self.least, self.greatest = math.inf, -math.inf
        self.count, self.total = 0, 0.0
        """With `first` kept in scripts that call this package `wandb`."""

    def add(self, value: float) -> None:
        if self.first is None:
            self.first = value
        if math.isfinite(value):
            self.count += 1
            self.total += value

    def of(self, word: str) -> Any:
        """`min`, `max`, `mean`, `first` or `last`; None for the first three before a finite value."""
        if word == "first":
            return plain(self.first)
        if word == "last" or self.least > self.greatest:
            return plain(self.last) if word == "last" else None
        if word == "mean":
            return self.total / self.count if self.count else None
        return self.least if word == "min" else self.greatest


def _number(value: Any) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    return float(value) if type(value) is str and value in ("NaN", "Infinity", "-Infinity") else None


def guessed_goal(metric: str) -> str | None:
    """The goal that the name suggests, `min` or `max`; None if it suggests none."""
    name = metric.lower()
    if any(word in name for word in _LESS_IS_BETTER):
        return "min"
    if any(word in name for word in _MORE_IS_BETTER):
        return "max"
    return None
