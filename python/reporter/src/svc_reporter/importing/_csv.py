"""CSV files: a row for each step with a column for each series, or a row for each value."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ._records import FINISHED, End, Facts, Fault, Found, Record, Row, Source, Wanted
from ._records import project_name as named
from ._values import number_in, numbered, typed

_STEPS = ("step", "_step", "global_step", "steps", "epoch", "iteration", "iter", "batch_idx")
_TIMES = ("timestamp", "_timestamp", "wall_time", "time", "datetime", "date", "created_at")
_RUNS = ("run", "run_id", "run_name", "experiment", "trial")
_NAMES = ("metric", "key", "tag", "name", "variable", "attribute_path")
_VALUES = ("value", "float_value")
_FRACTION = re.compile(r"\.\d+")
_MIN_TIME, _MAX_TIME = 10**8, 10**11
"""Seconds since 1970 that a column of times has; greater numbers are milliseconds."""


def open_source(wanted: Wanted) -> Source:
    return _Csv(wanted, Path(wanted.path))


class _Csv(Source):
    name = "csv"

    def __init__(self, wanted: Wanted, root: Path) -> None:
        self._wanted = wanted
        if not root.exists():
            raise FileNotFoundError(2, "there is no such file or folder", str(root))
        self._paths = sorted(root.rglob("*.csv")) if root.is_dir() else [root]
        if not self._paths:
            raise ValueError(f"{root} has no files that end with .csv")
        self._root = root
        self.total = sum(path.stat().st_size for path in self._paths)

    def runs(self) -> Iterator[Found | Fault]:
        base = self._root.resolve()
        project = named(self._wanted.project or (base.name if base.is_dir() else base.stem))
        for path in self._paths:
            try:
                table = _Table(path, self._wanted.step)
                self.read += path.stat().st_size
                title = path.relative_to(self._root).with_suffix("").as_posix() if self._root.is_dir() else path.stem
                names = table.runs()
                for name in names:
                    shown = title if name is None else name
                    key = f"{title}/{table.digest}" + ("" if name is None else f"/{name}")
                    run = _Run(table, name, shown, title if len(names) > 1 else None)
                    yield Found(key, project, run.start_ms(), run.records, title=shown, step_unit=table.unit)
            except (OSError, ValueError, csv.Error) as error:
                yield Fault(str(path), str(error))


class _Table:
    """One file. Read into memory: a column may turn out not to be a series in its last row."""

    def __init__(self, path: Path, step: str | None) -> None:
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
            head = file.read(64 * 1024)
            file.seek(0)
            try:
                dialect: Any = csv.Sniffer().sniff(head, delimiters=",;\t|")
            except csv.Error:
                dialect = csv.excel
            rows = [row for row in csv.reader(file, dialect) if row]
        if len(rows) < 2:
            raise ValueError("has no rows below its head")
        self.path = path
        self.columns = [name.strip() for name in rows[0]]
        self.rows = rows[1:]
        self.digest = hashlib.sha256(repr(rows[:2]).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        if step is not None and step not in self.columns:
            raise ValueError(f"has no column {step!r}; it has {', '.join(self.columns[:20])}")
        self.step = self.columns.index(step) if step is not None else self._place(_STEPS)
        self.time = self._place(_TIMES)
        self.run = self._place(_RUNS)
        self.key, self.value = self._place(_NAMES), self._place(_VALUES)
        self.is_long = self.key is not None and self.value is not None
        self.unit = "step" if self.step is None else self.columns[self.step].strip("_")[:64] or "step"

    def _place(self, names: tuple[str, ...]) -> int | None:
        lower = [name.lower() for name in self.columns]
        return next((lower.index(name) for name in names if name in lower), None)

    def runs(self) -> list[str | None]:
        """The runs of the file; None is the file itself."""
        if self.run is None:
            return [None]
        return list(dict.fromkeys(cell(row, self.run) or "run" for row in self.rows))


class _Run:
    def __init__(self, table: _Table, run: str | None, title: str, group: str | None) -> None:
        self._table = table
        self._run = run
        self._title = title
        self._group = group
        self._faults: list[Fault] = []

    def _rows(self) -> list[tuple[int, list[str]]]:
        table = self._table
        numbers = enumerate(table.rows, 2)
        return [(at, row) for at, row in numbers if self._run is None or (cell(row, table.run) or "run") == self._run]

    def start_ms(self) -> int:
        return min((self._time(row) for _, row in self._rows()), default=self._file_ms())

    def _file_ms(self) -> int:
        return int(self._table.path.stat().st_mtime * 1000)

    def _time(self, row: list[str]) -> int:
        text = cell(row, self._table.time)
        return (time_in(text) if text else None) or self._file_ms()

    def records(self) -> Iterator[Record]:
        table, rows = self._table, self._rows()
        series, constants = self._columns(rows)
        yield Facts({"name": self._title, "group": self._group, "config": constants})
        times = [self._time(row) for _, row in rows]
        steps = self._steps(rows)
        if table.is_long:
            yield from self._long(rows, steps, times)
        else:
            for (line, row), step, ms in zip(rows, steps, times, strict=True):
                values: dict[str, Any] = {}
                for column in series:
                    try:
                        number = number_in(cell(row, column))
                    except ValueError as error:
                        yield Fault(f"line {line}, {table.columns[column]}", str(error))
                        continue
                    if number is not None:
                        values[table.columns[column]] = number
                if step is None:
                    yield Fault(f"line {line}", f"{cell(row, table.step)!r} is not a step")
                elif values:
                    yield Row(step, ms, values)
        yield End(max(times, default=0), FINISHED)

    def _long(self, rows: list[tuple[int, list[str]]], steps: list[int | None], times: list[int]) -> Iterator[Record]:
        """A row for each value. Rows without a step are numbered for each name."""
        table = self._table
        points: dict[str, list[tuple[int, int, Any]]] = {}
        for (line, row), step, ms in zip(rows, steps, times, strict=True):
            name = cell(row, table.key)
            try:
                number = number_in(cell(row, table.value))
            except ValueError as error:
                yield Fault(f"line {line}, {name}", str(error))
                continue
            if step is None:
                yield Fault(f"line {line}", f"{cell(row, table.step)!r} is not a step")
            elif number is not None and name:
                points.setdefault(name, []).append((0 if table.step is None else step, ms, number))
        for name, own in points.items():
            for step, ms, number in numbered(own)[0] if table.step is None else own:
                yield Row(step, ms, {name: number})

    def _columns(self, rows: list[tuple[int, list[str]]]) -> tuple[list[int], dict[str, Any]]:
        """The columns that are series, and the value of each other one if it is always the same."""
        table = self._table
        special = {table.step, table.time, table.run} | ({table.key, table.value} if table.is_long else set())
        series: list[int] = []
        constants: dict[str, Any] = {}
        for column, name in enumerate(table.columns):
            if column in special or not name:
                continue
            cells = [found for _, row in rows if (found := cell(row, column))]
            numbers = sum(_is_number(found) for found in cells[:1_000])
            if numbers * 2 > len(cells[:1_000]) and not table.is_long:
                series.append(column)
            elif cells and len(set(cells)) == 1:
                constants[name] = typed(cells[0])
        return series, constants

    def _steps(self, rows: list[tuple[int, list[str]]]) -> list[int | None]:
        place = self._table.step
        if place is None:
            return list(range(len(rows)))
        steps: list[int | None] = []
        for _, row in rows:
            try:
                number = number_in(cell(row, place))
            except ValueError:
                number = None
            is_whole = number is not None and math.isfinite(number) and number == int(number)
            steps.append(int(number) if is_whole and number is not None else None)
        return steps


def cell(row: list[str], column: int | None) -> str:
    return row[column].strip() if column is not None and column < len(row) else ""


def _is_number(text: str) -> bool:
    try:
        return number_in(text) is not None
    except ValueError:
        return False


def time_in(text: str) -> int | None:
    """Unix milliseconds of a number of seconds or milliseconds, or of an ISO 8601 time (UTC without a zone)."""
    try:
        number = float(text)
        if _MIN_TIME < number < _MAX_TIME:
            return round(number * 1000)
        return round(number) if _MIN_TIME * 1000 < number < _MAX_TIME * 1000 else None
    except ValueError:
        pass
    padded = _FRACTION.sub(lambda part: part[0][:7].ljust(7, "0"), text)  # Python 3.10 takes 3 or 6 digits only
    try:
        found = datetime.fromisoformat(padded.replace("Z", "+00:00"))
    except ValueError:
        return None
    return round((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp() * 1000)
