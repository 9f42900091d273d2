"""Plots as data, which the page draws: `run.log({"roc": svc.plot.roc_curve(y_true, scores)})`.

Each returns a value for `log`. They have the names of W&B's; the series of a curve have at most 500 points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ._capture.media import Plot, Table
from ._shared.plain import plain, text_of

_POINTS = 500
_MAX_SERIES = 100

__all__ = ["bar", "confusion_matrix", "histogram", "line", "line_series", "pr_curve", "roc_curve", "scatter"]


def confusion_matrix(
    probs: Any = None,
    y_true: Any = None,
    preds: Any = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    **_more: Any,
) -> Plot:
    """How often each class was taken for each other one: of `preds`, or of the greatest of `probs`."""
    true = _numbers(y_true)
    predicted = _numbers(preds) if preds is not None else [_argmax(row) for row in _rows(probs)]
    kinds = sorted({*true, *predicted}, key=lambda kind: (isinstance(kind, str), kind))
    labels = [text_of(name) for name in class_names] if class_names else [text_of(kind) for kind in kinds]
    place = {kind: at for at, kind in enumerate(kinds)}
    if class_names and all(isinstance(kind, int) and 0 <= kind < len(labels) for kind in kinds):
        place = {at: at for at in range(len(labels))}
    elif class_names and all(text_of(kind) in labels for kind in kinds):
        place = {kind: labels.index(text_of(kind)) for kind in kinds}
    size = max(len(labels), *(at + 1 for at in place.values()), 1)
    matrix = [[0] * size for _ in range(size)]
    for actual, guess in zip(true, predicted, strict=False):
        matrix[place[actual]][place[guess]] += 1
    return Plot(
        {
            "plot": "confusion_matrix",
            "title": title or "Confusion matrix",
            "x_label": "predicted",
            "y_label": "actual",
            "labels": labels + [text_of(at) for at in range(len(labels), size)],
            "matrix": matrix,
        }
    )


def roc_curve(
    y_true: Any = None,
    y_probas: Any = None,
    labels: Sequence[str] | None = None,
    classes_to_plot: Sequence[Any] | None = None,
    title: str | None = None,
    **_more: Any,
) -> Plot:
    """The rate of true against that of false positives, for each class."""
    series = [
        _named(name, *_roc(hits, scores))
        for name, hits, scores in _one_vs_rest(y_true, y_probas, labels, classes_to_plot)
    ]
    return _curve("roc_curve", title or "ROC", "false positive rate", "true positive rate", series)


def pr_curve(
    y_true: Any = None,
    y_probas: Any = None,
    labels: Sequence[str] | None = None,
    classes_to_plot: Sequence[Any] | None = None,
    interp_size: int = 21,
    title: str | None = None,
    **_more: Any,
) -> Plot:
    """Precision against recall, for each class."""
    series = [
        _named(name, *_pr(hits, scores))
        for name, hits, scores in _one_vs_rest(y_true, y_probas, labels, classes_to_plot)
    ]
    return _curve("pr_curve", title or "Precision and recall", "recall", "precision", series)


def line(table: Table, x: str, y: str, stroke: str | None = None, title: str | None = None, **_more: Any) -> Plot:
    """A line through two columns of a table; `stroke` is a column that names one line per value."""
    return _of_columns(table, x, y, stroke, title)


def scatter(table: Table, x: str, y: str, title: str | None = None, **_more: Any) -> Plot:
    """Points of two columns of a table."""
    xs, ys = plain(table.get_column(x)), plain(table.get_column(y))
    return _figure({"type": "scatter", "mode": "markers", "x": xs, "y": ys}, title or f"{y} by {x}", x, y)


def bar(table: Table, label: str, value: str, title: str | None = None, **_more: Any) -> Plot:
    """A bar for each row of a table."""
    labels = [text_of(one) for one in table.get_column(label)]
    data = {"plot": "bars", "labels": labels, "values": plain(table.get_column(value))}
    return Plot({**data, "title": title or f"{value} by {label}", "x_label": label, "y_label": value})


def histogram(table: Table, value: str, title: str | None = None, num_bins: int = 64, **_more: Any) -> Plot:
    """How often values of a column occur."""
    from ._capture.encode_values import plain_histogram

    found = plain_histogram([float(cell) for cell in table.get_column(value) if cell is not None], num_bins)
    edges = found["bins"]
    centres = [(edges[at] + edges[at + 1]) / 2 for at in range(len(edges) - 1)]
    return _figure({"type": "bar", "x": centres, "y": found["counts"]}, title or value, value, "count")


def line_series(
    xs: Any,
    ys: Any,
    keys: Iterable[str] | None = None,
    title: str | None = None,
    xname: str | None = None,
    **_more: Any,
) -> Plot:
    """Several lines: `ys` has one list for each; `xs` one for all, or one for each."""
    lines = [plain(list(one)) for one in ys][:_MAX_SERIES]
    names = [text_of(key) for key in keys] if keys is not None else [f"line {at}" for at in range(len(lines))]
    first = list(xs)
    own = bool(first) and hasattr(first[0], "__len__")
    series = [
        {"name": name, "x": plain(list(first[at] if own else first)), "y": values}
        for at, (name, values) in enumerate(zip(names, lines, strict=False))
    ]
    return _curve("lines", title or "", xname or "x", "y", series)


def _of_columns(table: Table, x: str, y: str, stroke: str | None, title: str | None) -> Plot:
    xs, ys = plain(table.get_column(x)), plain(table.get_column(y))
    groups = [text_of(one) for one in table.get_column(stroke)] if stroke else [y] * len(xs)
    series: dict[str, dict[str, Any]] = {}
    for name, one, other in zip(groups, xs, ys, strict=False):
        found = series.setdefault(name, {"name": name, "x": [], "y": []})
        found["x"].append(one)
        found["y"].append(other)
    return _curve("lines", title or f"{y} by {x}", x, y, list(series.values())[:_MAX_SERIES])


def _figure(trace: dict[str, Any], title: str, x: str, y: str) -> Plot:
    """In the form of plotly."""
    layout = {"title": {"text": title}, "xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return Plot({"data": [trace], "layout": layout})


def _curve(plot: str, title: str, x: str, y: str, curves: list[dict[str, Any]]) -> Plot:
    return Plot({"plot": plot, "title": title, "x_label": x, "y_label": y, "curves": curves})


def _named(name: str, xs: list[float], ys: list[float], area: float) -> dict[str, Any]:
    step = max(1, len(xs) // _POINTS)
    kept = sorted({*range(0, len(xs), step), len(xs) - 1}) if xs else []
    return {"name": name, "x": [xs[at] for at in kept], "y": [ys[at] for at in kept], "area": round(area, 6)}


def _roc(hits: list[bool], scores: list[float]) -> tuple[list[float], list[float], float]:
    positives = sum(hits) or 1
    negatives = len(hits) - sum(hits) or 1
    xs, ys = [0.0], [0.0]
    for true, false in _counts(hits, scores):
        xs.append(false / negatives)
        ys.append(true / positives)
    return xs, ys, sum((xs[at] - xs[at - 1]) * (ys[at] + ys[at - 1]) / 2 for at in range(1, len(xs)))


def _pr(hits: list[bool], scores: list[float]) -> tuple[list[float], list[float], float]:
    positives = sum(hits) or 1
    xs, ys = [0.0], [1.0]
    for true, false in _counts(hits, scores):
        xs.append(true / positives)
        ys.append(true / (true + false))
    return xs, ys, sum((xs[at] - xs[at - 1]) * ys[at] for at in range(1, len(xs)))


def _counts(hits: list[bool], scores: list[float]) -> Iterable[tuple[int, int]]:
    """True and false positives at each threshold, from the highest score down."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    true = false = 0
    for place, at in enumerate(order):
        true, false = true + hits[at], false + (not hits[at])
        if place + 1 == len(order) or scores[order[place + 1]] != scores[at]:
            yield true, false


def _one_vs_rest(
    y_true: Any, y_probas: Any, labels: Sequence[str] | None, wanted: Sequence[Any] | None
) -> Iterable[tuple[str, list[bool], list[float]]]:
    true = _numbers(y_true)
    rows = _rows(y_probas)
    if rows and not isinstance(rows[0], list):  # scores of the positive class
        rows = [[1 - row, row] for row in rows]
        wanted = wanted if wanted is not None else [max(true, default=1)]
    kinds = sorted(set(true), key=lambda kind: (isinstance(kind, str), kind))
    width = len(rows[0]) if rows else 0
    columns = kinds if len(kinds) == width and kinds != list(range(width)) else list(range(width))
    for at, kind in enumerate(columns[:_MAX_SERIES]):
        if wanted is not None and kind not in wanted:
            continue
        name = text_of(labels[at]) if labels is not None and at < len(labels) else text_of(kind)
        yield name, [value == kind for value in true], [float(row[at]) for row in rows]


def _numbers(values: Any) -> list[Any]:
    """Labels as numbers or texts."""
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    return [int(one) if isinstance(one, (bool, float)) and float(one).is_integer() else one for one in found]


def _rows(values: Any) -> list[Any]:
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    return [
        one.tolist() if hasattr(one, "tolist") else list(one) if hasattr(one, "__len__") else float(one)
        for one in found
    ]


def _argmax(row: Any) -> int:
    return max(range(len(row)), key=lambda at: row[at])
