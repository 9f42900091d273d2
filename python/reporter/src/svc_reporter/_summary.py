"""What a run comes to: what it set itself, and the last, least, greatest and best value of everything it logged."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, MutableMapping
from typing import Any

from ._plain import plain

MOST_METRICS = 1_000
_LESS_IS_BETTER = ("loss", "err", "perplexity", "ppl", "mae", "mse", "rmse", "nll", "wer", "cer", "fid", "time")
_MORE_IS_BETTER = ("acc", "auc", "f1", "precision", "recall", "score", "reward", "bleu", "rouge", "map", "iou", "r2")


class Summary(MutableMapping[str, Any]):
    """`run.summary["best_acc"] = best`. What was not set reads as the last value that was logged.

    `run.summary.of("loss")` tells the last, least, greatest and best finite value of a metric. Best is the least or the
    greatest as `define_metric(goal=...)` says, else as its name suggests (`loss`, `acc`), else missing.
    """

    def __init__(self) -> None:
        self._set: dict[str, Any] = {}
        self._seen: dict[str, dict[str, Any]] = {}
        self._goals: dict[str, str] = {}
        self._lock = threading.RLock()

    def __getitem__(self, key: str) -> Any:
        if key in self._set:
            return self._set[key]
        return self._seen[key]["last"]

    def __setitem__(self, key: str, value: Any) -> None:
        self._set[str(key)] = plain(value)

    def __delitem__(self, key: str) -> None:
        del self._set[key]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._set, *self._seen]))

    def __len__(self) -> int:
        return len(set(self._set) | set(self._seen))

    def __repr__(self) -> str:
        return f"Summary({dict(self)!r})"

    def of(self, metric: str) -> dict[str, Any]:
        """`{"last", "min", "max", "best"}`, as far as there is one; KeyError for what was never logged."""
        seen = self._seen[metric]
        goal = self._goals.get(metric) or guessed_goal(metric)
        return seen if goal is None or goal not in seen else {**seen, "best": seen[goal]}

    def note(self, metric: str, value: float, goal: str | None = None) -> None:
        """A value that was logged."""
        with self._lock:
            if goal is not None:
                self._goals[metric] = goal
            seen = self._seen.get(metric)
            if seen is None:
                if len(self._seen) >= MOST_METRICS:
                    return
                seen = self._seen[metric] = {}
            seen["last"] = plain(value)
            if math.isfinite(value):
                seen["min"] = min(value, seen.get("min", value))
                seen["max"] = max(value, seen.get("max", value))

    def as_set(self) -> dict[str, Any]:
        """What the run set itself."""
        return dict(self._set)

    def as_data(self) -> dict[str, Any]:
        """What the service keeps: `{"loss": {"last": ..., "min": ..., "max": ..., "best": ...}, "best_acc": 0.93}`."""
        with self._lock:
            return {**{metric: self.of(metric) for metric in self._seen}, **self._set}


def guessed_goal(metric: str) -> str | None:
    name = metric.lower()
    if any(word in name for word in _LESS_IS_BETTER):
        return "min"
    if any(word in name for word in _MORE_IS_BETTER):
        return "max"
    return None
