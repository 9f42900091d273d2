"""Rules of values, without I/O: texts that are numbers, repeated steps, names."""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._capture.axes import MAX_STEP, RESERVED
from .._capture.metric_values import NAME_LIMIT

_MANY = 9
"""More values of one step than these are numbered; fewer become series of their own."""
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


def typed(text: Any) -> Any:
    """A number or boolean, if it reads back as the same text; else the text.

    "1.10", "007" and "1_000" stay texts: as a version or an id they are not 1.1, 7 and 1000.
    """
    if not isinstance(text, str):
        return text
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if repr(number) == text and -(2**63) <= number < 2**63:
            return number
    return text


def number_in(text: Any) -> float | None:
    """The number of a cell; None if it is empty. Raises ValueError for other text."""
    if text is None:
        return None
    if isinstance(text, bool):
        return float(text)
    if isinstance(text, (int, float)):
        return text
    word = str(text).strip()
    if not word:
        return None
    found = _NON_FINITE.get(word.lower())
    if found is not None:
        return found
    if "_" in word:
        raise ValueError(f"{word!r} is not a number")
    try:
        whole = int(word)
        return whole if abs(whole) <= MAX_STEP else float(word)
    except ValueError:
        return float(word)


def series_name(name: str) -> str:
    """A name that the service takes. A long one keeps its beginning and gets a hash."""
    shown = RESERVED.get(name, name) or "value"
    if len(shown) <= NAME_LIMIT:
        return shown
    return f"{shown[: NAME_LIMIT - 9]}~{hashlib.sha256(shown.encode('utf-8', 'replace')).hexdigest()[:8]}"


class Repeats:
    """Finds values of one name and step that come again.

    The later value is that of the step, as everywhere in the service; the earlier one goes to the series `<name>~1`,
    one before it to `<name>~2`. So a run that was continued from a checkpoint shows its last course, and loses none.
    Takes 16 bytes a point.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[array[int], array[float]]] = {}

    def take(self, name: str, step: int, value: float) -> list[tuple[str, float]]:
        """The values that this one replaces, with the names that they get; almost always none."""
        seen = self._seen.get(name)
        if seen is None:
            seen = self._seen[name] = (array("q"), array("d"))
        steps, values = seen
        if not steps or step > steps[-1]:
            steps.append(step)
            values.append(value)
            return []
        at = bisect_left(steps, step)
        if at < len(steps) and steps[at] == step:
            earlier, values[at] = values[at], value
            moved = _replaced(name)
            return [(moved, earlier), *self.take(moved, step, earlier)]
        steps.insert(at, step)
        values.insert(at, value)
        return []


def _replaced(name: str) -> str:
    base, mark, count = name.rpartition("~")
    return f"{base}~{int(count) + 1}" if mark and count.isdigit() and int(count) < 10**6 else f"{name}~1"


Point = tuple[int, int, Any]
"""Step, time in milliseconds, value."""


def numbered(points: Sequence[Point]) -> tuple[list[Point], list[int] | None]:
    """The points of one series in the order of their times, if steps do not tell them apart.

    A tool that is given no step writes all of them at step 0. Then they are numbered, and their own steps are
    returned, if they differ. Else the points come back as they are.
    """
    counts: dict[int, int] = {}
    for step, _, _ in points:
        counts[step] = counts.get(step, 0) + 1
    most = max(counts.values(), default=0)
    if most <= 1 or (most <= _MANY and len(counts) > 1):
        return list(points), None
    ordered = sorted(points, key=lambda one: (one[1], one[0]))
    steps = [step for step, _, _ in ordered] if len(counts) > 1 else None
    return [(at, ms, value) for at, (_, ms, value) in enumerate(ordered)], steps


def by_step(series: Mapping[str, Sequence[Point]]) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The points of several series, merged: one dictionary for each step and time."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for name, points in series.items():
        for step, ms, value in points:
            row = rows.setdefault((step, ms), {})
            if name in row:  # two values of the same instant
                row = rows.setdefault((step, ms + 1), {})
            row[name] = value
    for step, ms in sorted(rows):
        yield step, ms, rows[step, ms]


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"acc": {"top1": 1}}` → `("acc/top1", 1)`; lists and values with a `_type` stay whole."""
    for key, value in values.items():
        if isinstance(value, Mapping) and "_type" not in value:
            yield from flat(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value
