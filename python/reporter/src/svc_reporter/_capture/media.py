"""Values of a run that are not numbers: images, audio, video, tables, histograms, pages, plots and text.

A value is copied when it is logged, and encoded later in a thread of the reporter: `taken()` returns the function that
does it. A value that cannot be encoded costs itself and one line, nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from .._disk.file_store import Kept
from .._shared.plain import plain, text_of
from . import encode as _encode
from . import encode_values

MAX_LIST = 100
"""Values of one name at one step."""
MAX_ROWS = 200_000
MAX_BINS = 512
MAX_BOXES = 500


class Keep(Protocol):
    """Stores bytes or a file until they are sent, under a name with this suffix."""

    def __call__(self, content: bytes | Path, media_type: str, suffix: str) -> Kept: ...


Taken = Callable[[Keep], dict[str, Any]]
"""Encodes a copied value, stores its content, and returns the fields of the event."""


class Media:
    """Base of all of them."""

    kind = ""

    def taken(self) -> Taken:
        """Copy the value; the result encodes the copy. Called in the training's thread."""
        raise NotImplementedError

    def _stored(self, keep: Keep, encoded: _encode.Encoded, **fields: Any) -> dict[str, Any]:
        kept = keep(encoded.content, encoded.media_type, encoded.suffix)
        more = {key: value for key, value in {**encoded.fields, **fields}.items() if value is not None}
        found = {"_type": self.kind, "sha256": kept.sha256, "size": kept.size, "media_type": encoded.media_type}
        return {**found, **more}


class Image(Media):
    """`svc.Image(x, caption=...)`: of NumPy, torch (CHW, HWC; 0..1 or bytes), PIL, matplotlib, a path or bytes.

    `boxes` and `masks` have W&B's form: `{"predictions": {"box_data": [...], "class_labels": {...}}}`, and
    `{"predictions": {"mask_data": array, "class_labels": {...}}}`.
    """

    kind = "image"

    def __init__(
        self,
        data_or_path: Any,
        mode: str | None = None,
        caption: object = None,
        grouping: int | None = None,
        classes: Any = None,
        boxes: Any = None,
        masks: Any = None,
        file_type: str | None = None,
        **_more: Any,
    ) -> None:
        self.data: Any = data_or_path.data if isinstance(data_or_path, Image) else data_or_path
        self.mode = mode
        self.caption = None if caption is None else text_of(caption)[:1_000]
        self.classes = classes
        self.boxes = boxes
        self.masks = masks
        self.file_type = file_type

    @property
    def image(self) -> Any:
        """The image as PIL has it (W&B)."""
        return _encode.as_pil(self.data)

    def taken(self) -> Taken:
        encode = _encode.image(self.data, self.mode, self.file_type)
        labels = _labels(self.classes)
        boxes = _boxes(self.boxes, labels)
        masks = {text_of(name): _mask(value, labels) for name, value in (self.masks or {}).items()}

        def finish(keep: Keep) -> dict[str, Any]:
            stored: dict[str, Any] = {}
            for name, (encode_mask, fields) in masks.items():
                made = encode_mask()
                kept = keep(made.content, made.media_type, made.suffix)
                own = {"sha256": kept.sha256, "size": kept.size, "media_type": made.media_type}
                stored[name] = {**own, **made.fields, **fields}
            return self._stored(keep, encode(), caption=self.caption, boxes=boxes or None, masks=stored or None)

        return finish


class Audio(Media):
    """`svc.Audio(samples, sample_rate)`: of NumPy, torch or a list (as WAV, 16 bit), a path or bytes."""

    kind = "audio"

    def __init__(self, data_or_path: Any, sample_rate: int | None = None, caption: object = None, **_more: Any) -> None:
        self.data = data_or_path
        self.sample_rate = sample_rate
        self.caption = None if caption is None else text_of(caption)[:1_000]

    def taken(self) -> Taken:
        encode = encode_values.audio(self.data, self.sample_rate)
        return lambda keep: self._stored(keep, encode(), caption=self.caption)


class Video(Media):
    """`svc.Video(frames, fps=4)`: frames as time x channels x height x width (as GIF), a path or bytes."""

    kind = "video"

    def __init__(
        self,
        data_or_path: Any,
        caption: object = None,
        fps: float | None = None,
        format: str | None = None,
        **_more: Any,
    ) -> None:
        self.data = data_or_path
        self.fps = fps or 4
        self.format = format
        self.caption = None if caption is None else text_of(caption)[:1_000]

    def taken(self) -> Taken:
        encode = encode_values.video(self.data, float(self.fps))
        return lambda keep: self._stored(keep, encode(), caption=self.caption)


class Table(Media):
    """`svc.Table(frame)`, `svc.Table(columns=[...], data=[[...], ...])`: of pandas, polars, rows or dictionaries.

    A cell may be a number, a text or another value such as an `Image`.
    """

    kind = "table"
    MAX_ROWS = MAX_ROWS

    def __init__(
        self,
        columns: Any = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        **_more: Any,
    ) -> None:
        if columns is not None and data is None and rows is None and dataframe is None and not _is_names(columns):
            columns, data = None, columns
        given = next((one for one in (dataframe, data, rows) if one is not None), None)
        frame_columns, found = _rows_of(given)
        self.data: list[list[Any]] = found
        width = max(map(len, found), default=0)
        names = columns if columns is not None else frame_columns or [str(n) for n in range(width)]
        self.columns: list[str] = [text_of(name) for name in names]

    def add_data(self, *row: Any) -> None:
        """Add a row."""
        self.data.append(list(row))

    def add_row(self, *row: Any) -> None:
        self.add_data(*row)

    def add_column(self, name: str, data: Iterable[Any], **_more: Any) -> None:
        values = list(data)
        while len(self.data) < len(values):
            self.data.append([None] * len(self.columns))
        self.columns.append(text_of(name))
        for at, row in enumerate(self.data):
            row.append(values[at] if at < len(values) else None)

    def get_column(self, name: str, convert_to: str | None = None) -> Any:
        at = self.columns.index(name)
        values = [row[at] if at < len(row) else None for row in self.data]
        numpy: Any = sys.modules.get("numpy")
        return numpy.array(values) if convert_to == "numpy" and numpy is not None else values

    def get_dataframe(self) -> Any:
        import pandas

        return pandas.DataFrame(self.data, columns=self.columns)

    def iterrows(self) -> Iterable[tuple[int, list[Any]]]:
        return enumerate(self.data)

    def taken(self) -> Taken:
        width = len(self.columns)
        cells: list[list[Any]] = []
        media: list[tuple[int, int, Taken]] = []
        for at, row in enumerate(self.data[:MAX_ROWS]):
            copied = list(row[:width]) + [None] * (width - len(row))
            for column, cell in enumerate(copied):
                if type(cell) not in (float, int, str, bool, type(None)):
                    value = media_of(cell)
                    if isinstance(value, Media):
                        media.append((at, column, value.taken()))
                        copied[column] = None
                    else:
                        copied[column] = plain(cell)
            cells.append(copied)
        left_out = len(self.data) - len(cells) or None
        columns = list(self.columns)

        def finish(keep: Keep) -> dict[str, Any]:
            for at, column, encode in media:
                cells[at][column] = encode(keep)
            made = encode_values.table(columns, cells)
            return self._stored(keep, made, rows=len(cells), columns=len(columns), rows_left_out=left_out)

        return finish


class Histogram(Media):
    """`svc.Histogram(values)`: counts of the values in `num_bins` bins; or `np_histogram=(counts, edges)`."""

    kind = "histogram"
    MAX_LENGTH = MAX_BINS

    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = 64, **_more: Any) -> None:
        self._sequence = sequence
        self._made = np_histogram
        self._num_bins = max(1, min(MAX_BINS, int(num_bins)))

    def taken(self) -> Taken:
        if self._made is not None:
            counts, edges = (plain(list(part)) for part in self._made)
            return lambda _keep: encode_values.histogram_of(counts, edges)
        count = encode_values.histogram(self._sequence, self._num_bins)
        return lambda _keep: count()

    @property
    def histogram(self) -> list[float]:
        """The counts."""
        return list(self.taken()(_no_keep)["counts"])

    @property
    def bins(self) -> list[float]:
        """The edges of the bins, one more than there are counts."""
        return list(self.taken()(_no_keep)["bins"])


class Html(Media):
    """`svc.Html("<b>…</b>")`: a page, which is shown without scripts; or the path of one, or an open file."""

    kind = "html"

    def __init__(self, data: Any, inject: bool = True, data_is_not_path: bool = False, **_more: Any) -> None:
        self.html = encode_values.text_or_file(data, (".html", ".htm"), is_text=data_is_not_path)
        self.caption = None

    def taken(self) -> Taken:
        made = _encode.Encoded(self.html.encode("utf-8", "replace"), "text/html", ".html", {})
        return lambda keep: self._stored(keep, made)


class Text(Media):
    """`svc.Text("…")`: a text with its step, shown beside images."""

    kind = "text"

    def __init__(self, data: object, caption: object = None) -> None:
        self.text = text_of(data)
        self.caption = None if caption is None else text_of(caption)[:1_000]

    def taken(self) -> Taken:
        made = _encode.Encoded(self.text.encode("utf-8", "replace"), "text/plain", ".txt", {})
        return lambda keep: self._stored(keep, made, caption=self.caption)


class Plotly(Media):
    """`svc.Plotly(figure)`: a figure of plotly, drawn by the page; one of matplotlib becomes an image."""

    kind = "plot"

    def __init__(self, val: Any, **_more: Any) -> None:
        self.figure = val

    def taken(self) -> Taken:
        if not hasattr(self.figure, "to_json"):
            return Image(self.figure).taken()
        content = self.figure.to_json().encode("utf-8", "replace")
        made = _encode.Encoded(content, "application/json", ".plotly.json", {})
        return lambda keep: self._stored(keep, made)


class Plot(Media):
    """A plot of `svc.plot`: data that the page draws."""

    kind = "plot"

    def __init__(self, data: dict[str, Any]) -> None:
        self.plot = data

    def taken(self) -> Taken:
        made = encode_values.as_json(self.plot, "application/json", ".plot.json")
        return lambda keep: self._stored(keep, made, title=self.plot.get("title"))


def media_of(value: Any) -> Media | list[Media] | None:
    """The media of a logged value; None if it is no such value. Figures, PIL images and data frames are recognised."""
    if isinstance(value, Media):
        return value
    kind = type(value)
    if kind in (list, tuple):
        if not value or type(value[0]) in (float, int, str, dict, bool):
            return None
        found = [media_of(one) for one in value]
        return [one for one in found if isinstance(one, Media)] if all(isinstance(o, Media) for o in found) else None
    package = kind.__module__.partition(".")[0]
    if package == "matplotlib" or (kind is type(sys) and getattr(value, "__name__", "") == "matplotlib.pyplot"):
        figure = _encode.figure_of(value)
        return None if figure is None else Image(figure)
    if package == "plotly" and hasattr(value, "to_json"):
        return Plotly(value)
    if package == "PIL" and hasattr(value, "save"):
        return Image(value)
    if package in ("pandas", "polars") and kind.__name__ == "DataFrame":
        return Table(value)
    return None


def _no_keep(content: bytes | Path, media_type: str, suffix: str) -> Kept:
    raise NotImplementedError


def _is_names(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, (str, int)) for name in value)


def _rows_of(given: Any) -> tuple[list[Any] | None, list[list[Any]]]:
    """Names of columns, if the value has them, and its rows."""
    if given is None:
        return None, []
    if hasattr(given, "iter_rows"):  # polars
        return list(given.columns), [list(row) for row in given.head(MAX_ROWS + 1).iter_rows()]
    if hasattr(given, "itertuples"):  # pandas
        rows = given.head(MAX_ROWS + 1).itertuples(index=False, name=None)
        return list(given.columns), [list(row) for row in rows]
    if isinstance(given, Mapping):
        columns = {text_of(name): list(values) for name, values in given.items()}
        return list(columns), [list(row) for row in zip(*columns.values(), strict=False)]
    if hasattr(given, "tolist"):
        given = given.tolist()
    rows = list(given)
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return names, [[row.get(name) for name in names] for row in rows]
    return None, [list(row) if isinstance(row, (list, tuple)) else [row] for row in rows]


def _labels(classes: Any) -> dict[str, str]:
    """W&B's classes: a list of `{"id": 0, "name": "car"}`, or names by number."""
    entries = getattr(classes, "_class_set", classes)
    if isinstance(entries, Mapping):
        return {text_of(key): text_of(name) for key, name in entries.items()}
    if isinstance(entries, Sequence) and not isinstance(entries, str):
        return {text_of(one["id"]): text_of(one["name"]) for one in entries if isinstance(one, Mapping)}
    return {}


def _boxes(given: Any, labels: dict[str, str]) -> dict[str, Any]:
    if not given:
        return {}
    layers = given if isinstance(given, Mapping) else {"boxes": {"box_data": list(given)}}
    found: dict[str, Any] = {}
    for name, layer in layers.items():
        data = layer.get("box_data", ()) if isinstance(layer, Mapping) else layer
        own = _labels(layer.get("class_labels")) if isinstance(layer, Mapping) else {}
        boxes = [plain(box) for box in list(data)[:MAX_BOXES]]
        found[text_of(name)] = {"box_data": boxes, "class_labels": own or labels}
    return found


def _mask(given: Any, labels: dict[str, str]) -> tuple[Callable[[], _encode.Encoded], dict[str, Any]]:
    is_mapping = isinstance(given, Mapping)
    data = given.get("mask_data", given.get("path")) if is_mapping else given
    own = _labels(given.get("class_labels")) if is_mapping else {}
    return _encode.mask(data), {"class_labels": own or labels}
