"""Parquet of Neptune's exporter: a row for each value, in `<run>_part_<n>.parquet`, files in a folder of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .._capture.media import Audio, Histogram, Image, Media, Text, Video
from ._records import (
    FAILED,
    FINISHED,
    RUNNING,
    End,
    Facts,
    Fault,
    File,
    Found,
    Line,
    Record,
    Row,
    Shown,
    Source,
    Wanted,
)
from ._records import project_name as named
from ._values import Point, by_step, numbered

_SINGLE = {"float": "float_value", "int": "int_value", "string": "string_value", "bool": "bool_value"}
_PART = re.compile(r"_part_\d+\.parquet$")
"""The exporter renames a run's first part last, so a run without it was cut off."""
_STREAMS = ("stdout", "stderr")
_MEDIA: tuple[tuple[tuple[str, ...], type[Image] | type[Audio] | type[Video]], ...] = (
    ((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"), Image),
    ((".wav", ".mp3", ".ogg", ".flac"), Audio),
    ((".mp4", ".webm"), Video),
)


def open_source(wanted: Wanted) -> Source:
    import pyarrow.parquet  # noqa: F401 - an error about it comes first

    root = Path(wanted.path)
    if not root.exists():
        raise FileNotFoundError(2, "there is no such folder", str(root))
    paths = [root] if root.is_file() else sorted(root.rglob("*.parquet"))
    if not paths:
        raise ValueError(f"{root} has no Parquet files")
    return _Neptune(wanted, root, paths)


class _Neptune(Source):
    name = "neptune"

    def __init__(self, wanted: Wanted, root: Path, paths: list[Path]) -> None:
        self._wanted = wanted
        self._root = root
        self._paths = paths
        self.total = sum(path.stat().st_size for path in paths)

    def runs(self) -> Iterator[Found | Fault]:
        import pyarrow.parquet as parquet

        parts: dict[tuple[str, str], list[Path]] = {}
        for path in self._paths:
            try:
                table = parquet.read_table(path, columns=["project_id", "run_id"])
            except Exception as error:  # of pyarrow: a damaged file, or another one
                yield Fault(path.name, f"{type(error).__name__}: {error}")
                continue
            for project, run in set(zip(table["project_id"].to_pylist(), table["run_id"].to_pylist(), strict=True)):
                parts.setdefault((str(project), str(run)), []).append(path)
        for (project, run), paths in parts.items():
            numbered = [path for path in paths if _PART.search(path.name)]
            if numbered and not any(path.name.endswith("_part_0.parquet") for path in numbered):
                yield Fault(run, "the exporter did not finish this run (its part 0 is missing); export it again")
                continue
            reader = _Run(self, project, run, paths)
            target = named(self._wanted.project or project.rpartition("/")[2])
            yield Found(f"{project}/{run}", target, reader.start_ms(), reader.records, title=run)

    def rows(self, path: Path, project: str, run: str) -> Iterator[Mapping[str, Any]]:
        import pyarrow.parquet as parquet

        for batch in parquet.ParquetFile(path).iter_batches(10_000):
            for row in batch.to_pylist():
                if str(row["run_id"]) == run and str(row["project_id"]) == project:
                    yield row
        self.read += path.stat().st_size

    def file(self, relative: str) -> Path:
        """A file of the export: below the folder of the files, which lies beside that of the data or within it."""
        base = self._root if self._root.is_dir() else self._root.parent
        for folder in (base, base / "files", base.parent / "files", base.parent, base.parent.parent / "files"):
            found = folder / relative
            if found.exists():
                return found
        raise FileNotFoundError(2, "is not in the export", relative)


class _Run:
    def __init__(self, source: _Neptune, project: str, run: str, paths: list[Path]) -> None:
        self._source = source
        self._project = project
        self._run = run
        self._paths = paths

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        for path in self._paths:
            yield from self._source.rows(path, self._project, self._run)

    def start_ms(self) -> int:
        """The time of creation, else that of the first value."""
        read, first = self._source.read, 0
        for row in self._rows():
            if row["attribute_path"] == "sys/creation_time":
                first = _ms(row.get("datetime_value"))
                break
            at = _ms(row.get("timestamp"))
            first = min(first or at, at) if at else first
        self._source.read = read
        return first

    def records(self) -> Iterator[Record]:
        facts: dict[str, Any] = {"config": {}, "summary": {}, "name": self._run}
        state, last = FINISHED, 0
        fractions: dict[str, list[tuple[float, int, Any]]] = {}
        for row in self._rows():
            path, kind = str(row["attribute_path"]), str(row["attribute_type"])
            at = _ms(row.get("timestamp"))
            last = max(last, at)
            try:
                if kind == "float_series":
                    step, value = float(row["step"] or 0), row["float_value"]
                    if value is None:
                        continue
                    fractions.setdefault(path, []).append((step, at, value))
                elif kind.endswith("_series"):
                    yield self._shown(path, kind, row, at)
                elif kind == "file":
                    yield from self._files(path, row)
                elif path == "sys/failed":
                    state = FAILED if row["bool_value"] else state
                elif path == "sys/state" and str(row["string_value"]).lower() in ("active", "running"):
                    state = RUNNING
                elif path in ("sys/modification_time", "sys/ping_time"):
                    last = max(last, _ms(row.get("datetime_value")))
                else:
                    self._single(path, kind, row, facts)
            except (ValueError, TypeError, KeyError, OSError) as error:
                yield Fault(path, f"{type(error).__name__}: {error}")
        yield Facts(facts)
        yield from _rows_of(fractions)
        if state != RUNNING:
            yield End(last, state, "Neptune: the run failed")

    def _single(self, path: str, kind: str, row: Mapping[str, Any], facts: dict[str, Any]) -> None:
        value: Any = row.get(_SINGLE.get(kind, ""))
        if kind == "datetime":
            found = row.get("datetime_value")
            value = found.isoformat() if found is not None else None
        elif kind == "string_set":
            value = list(row.get("string_set_value") or ())
        if path == "sys/tags":
            facts["tags"] = value
        elif path == "sys/group_tags" and value:
            facts["group"] = ", ".join(value)
        elif path == "sys/description":
            facts["notes"] = value
        elif path == "sys/name" and value:
            facts["name"] = value
        elif path == "sys/owner":
            facts["user"] = value
        elif path == "sys/hostname":
            facts["host"] = value
        elif not path.startswith("sys/") and value is not None:
            facts["config"][path] = value

    def _shown(self, path: str, kind: str, row: Mapping[str, Any], ms: int) -> Record:
        step = int(float(row["step"] or 0))
        if kind == "string_series":
            text = str(row["string_value"])
            stream = path.rpartition("/")[2]
            if stream in _STREAMS:
                return Line(ms, text.rstrip("\n"), stream=stream)
            return Shown(path, step, ms, Text(text))
        if kind == "histogram_series":
            histogram = row["histogram_value"]
            return Shown(path, step, ms, Histogram(np_histogram=(histogram["values"], histogram["edges"])))
        found = self._source.file(str(row["file_value"]["path"]))
        media = _media_of(found)
        if media is None:
            return File(f"{path}/{step}{found.suffix}", found)
        return Shown(path, step, ms, media)

    def _files(self, path: str, row: Mapping[str, Any]) -> Iterator[Record]:
        found = self._source.file(str(row["file_value"]["path"]))
        if found.is_file():
            yield File(path if path.endswith(found.suffix) else f"{path}{found.suffix}", found)
        for one in sorted(found.rglob("*")) if found.is_dir() else ():
            if one.is_file():
                yield File(f"{path}/{one.relative_to(found).as_posix()}", one)


def _rows_of(fractions: Mapping[str, list[tuple[float, int, Any]]]) -> Iterator[Record]:
    """Neptune's steps may have fractions: then the points are numbered, and `<name>/step` has their steps."""
    series: dict[str, list[Point]] = {}
    steps_of: dict[str, list[Point]] = {}
    for path, points in fractions.items():
        points.sort(key=lambda point: point[0])
        if all(step == int(step) for step, _, _ in points):
            series[path] = numbered([(int(step), ms, value) for step, ms, value in points])[0]
            continue
        series[path] = [(at, ms, value) for at, (_, ms, value) in enumerate(points)]
        steps_of[f"{path}/step"] = [(at, ms, step) for at, (step, ms, _) in enumerate(points)]
    for step, ms, values in by_step(series):
        yield Row(step, ms, values)
    for step, ms, values in by_step(steps_of):
        yield Row(step, ms, values, added=True)


def _media_of(path: Path) -> Media | None:
    for suffixes, kind in _MEDIA:
        if path.suffix.lower() in suffixes:
            return kind(path)
    return None


def _ms(value: datetime | None) -> int:
    if value is None:
        return 0
    return round((value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp() * 1000)
