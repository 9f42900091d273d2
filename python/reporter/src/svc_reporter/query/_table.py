"""A table of columns that becomes records, a pandas or a polars frame."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

FrameKind = Literal["auto", "pandas", "polars", "table"]


class Table:
    """Columns of equal length, held as lists or as an Arrow table; converted only when asked."""

    def __init__(self, columns: Mapping[str, Sequence[Any]] | None = None, *, arrow: Any = None) -> None:
        self._columns = None if columns is None else {name: list(values) for name, values in columns.items()}
        self._arrow = arrow

    @staticmethod
    def of_records(records: Sequence[Mapping[str, Any]], first: Sequence[str] = ()) -> Table:
        """Every key that occurs becomes a column; those of `first` come first, the others sorted."""
        names = {name for record in records for name in record}
        ordered = [name for name in first if name in names or not records]
        ordered += sorted(names - set(ordered))
        return Table({name: [record.get(name) for record in records] for name in ordered})

    @property
    def columns(self) -> list[str]:
        return list(self._arrow.column_names) if self._columns is None else list(self._columns)

    def __len__(self) -> int:
        if self._columns is None:
            return int(self._arrow.num_rows)
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __getitem__(self, name: str) -> list[Any]:
        if self._columns is None:
            return list(self._arrow.column(name).to_pylist())
        return list(self._columns[name])

    def distinct(self, name: str) -> set[Any]:
        """The distinct values of a column; empty if there is no such column."""
        if name not in self.columns:
            return set()
        return set(self[name] if self._columns is not None else self._arrow.column(name).unique().to_pylist())

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per row; needs nothing installed."""
        names = self.columns
        return [dict(zip(names, row, strict=True)) for row in zip(*(self[name] for name in names), strict=True)]

    def to_pandas(self) -> Any:
        pandas = _need("pandas")
        return self._arrow.to_pandas() if self._columns is None else pandas.DataFrame(self._columns)

    def to_polars(self) -> Any:
        polars = _need("polars")
        if self._columns is None:
            return polars.from_arrow(self._arrow)
        return polars.DataFrame(self._columns, strict=False, infer_schema_length=None)

    def wide(self, index: Sequence[str], key: str, value: str) -> Table:
        """One row per index, ordered by it, and one column per value of `key`."""
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        names: dict[str, None] = {}
        index = [name for name in index if name in self.columns]
        places = zip(*(self[name] for name in index), strict=True)
        for place, name, cell in zip(places, self[key], self[value], strict=True):
            row = rows.get(place)
            if row is None:
                row = rows[place] = {}
            row[name] = cell
            names[name] = None
        ordered = sorted(rows.items(), key=lambda item: item[0])
        columns: dict[str, list[Any]] = {name: [place[at] for place, _ in ordered] for at, name in enumerate(index)}
        columns.update({name: [row.get(name) for _, row in ordered] for name in sorted(names)})
        return Table(columns)

    def to_wide_frame(self, index: Sequence[str], key: str, value: str, kind: FrameKind = "auto") -> Any:
        """`wide` as a frame; pandas pivots by itself, which is faster."""
        kind = _installed() if kind == "auto" else kind
        if kind != "pandas" or len(self) == 0:
            return self.wide(index, key, value).to_frame(kind)
        needed = Table(self._columns) if self._arrow is None else Table(arrow=self._arrow.select([*index, key, value]))
        found = needed.to_pandas().pivot(index=list(index), columns=key, values=value)
        found.columns.name = None
        return found.reset_index()

    def to_frame(self, kind: FrameKind = "auto") -> Any:
        """A frame of this kind; "auto": pandas if it is installed, else polars, else this table."""
        if kind == "auto":
            kind = _installed()
        if kind == "pandas":
            return self.to_pandas()
        return self.to_polars() if kind == "polars" else self


def _installed() -> FrameKind:
    if importlib.util.find_spec("pandas"):
        return "pandas"
    return "polars" if importlib.util.find_spec("polars") else "table"


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is not installed: pip install 'svc-reporter[{name}]', or use frame=\"table\" and .records()"
        ) from error
