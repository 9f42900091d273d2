"""Databases of Trackio: one SQLite file a project, with media beside it. Read without Trackio itself."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._capture.media import Audio, Image, Media, Table, Text, Video
from ._csv import time_in
from ._records import FINISHED, End, Facts, Fault, Found, Line, Record, Row, Sample, Shown, Source, Wanted
from ._records import project_name as named
from ._values import flat

_SQLITE = b"SQLite format 3\0"
_KINDS: dict[str, type[Image] | type[Audio] | type[Video]] = {
    "trackio.image": Image,
    "trackio.audio": Audio,
    "trackio.video": Video,
}
_NUMBERS = {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"}
_LEVELS = {"warn": "warning"}


def open_source(wanted: Wanted) -> Source:
    root = Path(wanted.path)
    if not root.exists():
        raise FileNotFoundError(2, "there is no such folder or database", str(root))
    files = [root] if root.is_file() else sorted(root.glob("*.db"))
    databases = [path for path in files if _is_database(path)]
    if not databases:
        raise ValueError(f"{root} has no databases of Trackio (<project>.db)")
    return _Trackio(wanted, databases)


def _is_database(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


class _Trackio(Source):
    name = "trackio"

    def __init__(self, wanted: Wanted, databases: list[Path]) -> None:
        self._wanted = wanted
        self._databases = databases
        self._open: list[sqlite3.Connection] = []

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def runs(self) -> Iterator[Found | Fault]:
        for path in self._databases:
            try:
                yield from self._runs_of(path)
            except sqlite3.Error as error:
                yield Fault(str(path), f"cannot be read: {error}")

    def _runs_of(self, path: Path) -> Iterator[Found | Fault]:
        # `mode=ro` changes nothing, and still reads what is in the write-ahead log.
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        self._open.append(database)
        columns = {row[1] for row in database.execute("pragma table_info(metrics)")}
        key = "run_id" if "run_id" in columns else "run_name"
        found = database.execute(
            f"select {key}, min(run_name), min(timestamp), count(*) from metrics group by {key} order by min(timestamp)"
        ).fetchall()
        self.total += sum(row[3] for row in found)
        project = named(self._wanted.project or path.stem)
        for own, name, first, _ in found:
            run = _Run(self, database, path, key, own, str(name))
            yield Found(f"{path.stem}/{own}", project, time_in(str(first)) or 0, run.records, title=str(name))


class _Run:
    def __init__(
        self, source: _Trackio, database: sqlite3.Connection, path: Path, key: str, own: Any, name: str
    ) -> None:
        self._source = source
        self._database = database
        self._media = path.parent / "media"
        self._where = f"where {key} = ?"
        self._own = own
        self._name = name

    def _rows(self, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
        known = self._database.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone()
        if known is not None:
            yield from self._database.execute(f"select {columns} from {table} {self._where} order by id", (self._own,))

    def records(self) -> Iterator[Record]:
        config: dict[str, Any] = {}
        for (text,) in self._rows("config", "configs"):
            config.update(json.loads(text))
        group = config.get("_Group")
        shown = {key: value for key, value in config.items() if not key.startswith("_")}
        yield Facts({"name": self._name, "group": group, "config": shown, "user": config.get("_Username")})
        last = 0
        for number, at, step, text in self._rows("id, timestamp, step, metrics", "metrics"):
            self._source.read += 1
            ms = time_in(str(at)) or last
            last = max(last, ms)
            try:
                yield from self._row(int(step), ms, json.loads(text))
            except (ValueError, TypeError, KeyError, OSError, ImportError) as error:
                yield Fault(f"row {number}", f"{type(error).__name__}: {error}")
        for at, text in self._rows("timestamp, metrics", "system_metrics"):
            sample = _sample(json.loads(text))
            if sample:
                yield Sample(time_in(str(at)) or last, sample)
        for at, title, text, level in self._rows("timestamp, title, text, level", "alerts"):
            line = f"{title}: {text}" if text else str(title)
            yield Line(time_in(str(at)) or last, line, _LEVELS.get(level, str(level)))
        if last:
            yield End(last, FINISHED)

    def _row(self, step: int, ms: int, values: Mapping[str, Any]) -> Iterator[Record]:
        numbers: dict[str, Any] = {}
        for name, value in flat(values):
            if isinstance(value, (bool, int, float)):
                numbers[name] = float(value) if isinstance(value, float) else int(value)
            elif isinstance(value, str) and value in _NUMBERS:
                numbers[name] = float(value)
            elif value is not None:
                try:
                    yield Shown(name, step, ms, self._media_of(value))
                except (ValueError, OSError, KeyError, TypeError) as error:
                    yield Fault(f"{name} at step {step}", f"{type(error).__name__}: {error}")
        if numbers:
            yield Row(step, ms, numbers)

    def _media_of(self, value: Any) -> Media:
        kind = value.get("_type") if isinstance(value, Mapping) else None
        if kind in _KINDS:
            path = self._media / os.fspath(value["file_path"])
            if not path.is_file():
                raise FileNotFoundError(2, "is gone", str(value["file_path"]))
            return _KINDS[kind](path, caption=value.get("caption"))
        if kind == "trackio.table":
            return Table(data=value["_value"])
        if kind is not None:
            raise ValueError(f"{kind} has no counterpart here")
        return Text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _sample(values: Mapping[str, Any]) -> dict[str, Any]:
    """The machine's use, of the names that Trackio gives it."""
    numbers = {key: value for key, value in values.items() if isinstance(value, (int, float))}
    found: dict[str, Any] = {}
    gpus: dict[int, dict[str, Any]] = {}
    names = {"utilization": "util_pct", "temp": "temp_c", "power": "power_w"}
    for key, value in numbers.items():
        parts = key.split("/")
        if len(parts) == 3 and parts[0] == "gpu" and parts[1].isdigit() and parts[2] in names:
            gpus.setdefault(int(parts[1]), {})[names[parts[2]]] = value
        elif key in ("cpu/utilization", "cpu/percent"):
            found["cpu_util_pct"] = value
    if gpus:
        found["gpus"] = [{"index": index, **fields} for index, fields in sorted(gpus.items())]
    return found
