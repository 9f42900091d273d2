"""`Api`: what a notebook asks (contract §9). Histories are complete by default, never sampled."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterable, Sequence
from typing import Any

from ._client import Client, segment
from ._table import FrameKind, Table

_PLACE = ("batch_id", "job_id", "step")
"""What a point of several series shares; a timestamp may differ between the series of one epoch."""
_ARROW = "application/vnd.apache.arrow.stream"
_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_JOB_FIRST = ("batch_id", "job_id", "status", "model", "dataset", "started_at", "ended_at", "elapsed_s", "epochs")

Names = str | Iterable[str] | None


class Api:
    """Reads through the service's REST interface, as SVC_TOKEN's user.

    `frame` says what the `*_frame` methods return: "pandas", "polars", "table" (a `Table`, which has
    `.records()` and needs nothing installed), or "auto": the first of these that is installed.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, frame: FrameKind = "auto", timeout_s: float = 60
    ) -> None:
        self._client = Client(url, token, timeout_s)
        self._frame = frame

    def batches(
        self,
        *,
        project: Names = None,
        status: Names = None,
        host: Names = None,
        owner: Names = None,
        tag: Names = None,
        q: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Batches as the service describes them, newest first; several values of one filter mean "or"."""
        filters = {"project": project, "status": status, "host": host, "owner": owner, "tag": tag, "q": q}
        return list(self._client.items("/api/batches", filters, limit))

    def batch(self, batch_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self._client.get(f"/api/batches/{segment(batch_id)}")
        return found

    def jobs(
        self,
        batch_ids: Names = None,
        *,
        project: Names = None,
        status: Names = None,
        model: Names = None,
        dataset: Names = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Jobs as the service describes them."""
        filters = {"project": project, "batch": batch_ids, "status": status, "model": model, "dataset": dataset}
        return list(self._client.items("/api/jobs", filters, limit))

    def jobs_table(self, batch_ids: Names = None, **filters: Any) -> Table:
        """One row per job: its fields, then `param.*`, `metric.*` (final) and `latest.*`."""
        rows: list[dict[str, Any]] = []
        for job in self.jobs(batch_ids, **filters):
            row = {name: value for name, value in job.items() if name not in ("id", "params", "metrics", "latest")}
            row["job_id"] = job.get("id")
            for prefix, name in (("param", "params"), ("metric", "metrics"), ("latest", "latest")):
                for key, value in (job.get(name) or {}).items():
                    row[f"{prefix}.{key}"] = _WORDS.get(value, value) if isinstance(value, str) else value
            rows.append(row)
        return Table.of_records(rows, _JOB_FIRST)

    def jobs_frame(self, batch_ids: Names = None, *, frame: FrameKind | None = None, **filters: Any) -> Any:
        """`jobs_table` as a data frame; filters as for `jobs`."""
        return self.jobs_table(batch_ids, **filters).to_frame(frame or self._frame)

    def metrics_table(
        self, batch_ids: str | Iterable[str], keys: Names = None, wide: bool = False, *, jobs: Names = None
    ) -> Table:
        """Every recorded point: `batch_id, job_id, key, step, value, timestamp`, where a step is an epoch.

        `wide` makes a column of each key, beside `batch_id, job_id, step`.

        Comes as an Arrow stream where pyarrow is installed, else as CSV; both are complete.
        """
        wanted = [batch_ids] if isinstance(batch_ids, str) else list(batch_ids)
        filters = {"keys": keys, "jobs": jobs}
        parts = [self._one_batch(batch_id, filters) for batch_id in wanted]
        table = _joined(parts)
        if wide:
            index = [name for name in _PLACE if name in table.columns]
            return table.wide(index, "key", "value")
        return table

    def metrics_frame(
        self,
        batch_ids: str | Iterable[str],
        keys: Names = None,
        wide: bool = False,
        *,
        jobs: Names = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """`metrics_table` as a data frame."""
        return self.metrics_table(batch_ids, keys, wide, jobs=jobs).to_frame(frame or self._frame)

    def close(self) -> None:
        self._client.close()

    def _one_batch(self, batch_id: str, filters: dict[str, Names]) -> Table:
        path = f"/api/batches/{segment(batch_id)}/metrics"
        try:
            pyarrow = importlib.import_module("pyarrow")
            ipc = importlib.import_module("pyarrow.ipc")
        except ImportError:
            with self._client.stream(f"{path}.csv", filters, "text/csv") as response:
                return _with_batch(_read_csv(io.TextIOWrapper(response, "utf-8", newline="")), batch_id)
        with self._client.stream(f"{path}.arrow", filters, _ARROW) as response:
            arrow = ipc.open_stream(response).read_all()
        for at, field in enumerate(arrow.schema):
            if pyarrow.types.is_dictionary(field.type):  # batches of different dictionaries do not join
                arrow = arrow.set_column(at, field.name, arrow.column(at).cast(field.type.value_type))
        if "batch_id" not in arrow.column_names:
            arrow = arrow.add_column(0, "batch_id", pyarrow.array([batch_id] * arrow.num_rows, pyarrow.string()))
        return Table(arrow=arrow)


def _joined(parts: Sequence[Table]) -> Table:
    if len(parts) == 1:
        return parts[0]
    arrows = [part._arrow for part in parts if part._arrow is not None]
    if parts and len(arrows) == len(parts):
        return Table(arrow=importlib.import_module("pyarrow").concat_tables(arrows, promote_options="default"))
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    columns: dict[str, list[Any]] = {name: [] for name in names or ("batch_id", "job_id", "key", "step", "value")}
    for part in parts:
        for name in columns:
            columns[name] += part[name] if name in part.columns else [None] * len(part)
    return Table(columns)


def _with_batch(table: Table, batch_id: str) -> Table:
    if "batch_id" in table.columns:
        return table
    return Table({"batch_id": [batch_id] * len(table), **{name: table[name] for name in table.columns}})


def _read_csv(text: io.TextIOBase) -> Table:
    rows = csv.reader(text)
    header = next(rows, [])
    columns: dict[str, list[Any]] = {name: [] for name in header}
    readers = [_CELLS.get(name, str) for name in header]
    for row in rows:
        for name, read, cell in zip(header, readers, row, strict=True):
            columns[name].append(read(cell))
    return Table(columns)


def _number(cell: str) -> float | None:
    return None if cell == "" else _WORDS.get(cell) if cell in _WORDS else float(cell)


def _whole(cell: str) -> int | None:
    return int(cell) if cell else None


_CELLS: dict[str, Any] = {"step": _whole, "value": _number}
