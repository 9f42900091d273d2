"""Full histories: points of metrics as Arrow or CSV, samples of the machine as JSON."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ._client import Client, Filters, segment
from ._table import Table
from ._values import WORDS, as_number, as_time

_ARROW = "application/vnd.apache.arrow.stream"


def metrics_of(client: Client, batch_ids: Sequence[str], filters: Filters) -> Table:
    """Every point of these batches: `batch_id, job_id, key, step, value, timestamp`."""
    return _joined([_one_batch(client, batch_id, filters) for batch_id in batch_ids])


def resources_of(client: Client, batch_id: str, filters: Filters) -> Table:
    """Every sample of a batch: `batch_id, job_id, key, time, value`."""
    columns: dict[str, list[Any]] = {name: [] for name in ("batch_id", "job_id", "key", "time", "value")}
    for series in client.get(f"/api/batches/{segment(batch_id)}/resources", filters)["series"]:
        for step, value in zip(series["steps"], series["values"], strict=True):
            row = (batch_id, series["job_id"], series["key"], datetime.fromtimestamp(step, timezone.utc), value)
            for name, cell in zip(columns, row, strict=True):
                columns[name].append(as_number(cell) if name == "value" else cell)
    return Table(columns)


def _one_batch(client: Client, batch_id: str, filters: Mapping[str, Any]) -> Table:
    path = f"/api/batches/{segment(batch_id)}/metrics"
    try:
        pyarrow = importlib.import_module("pyarrow")
        ipc = importlib.import_module("pyarrow.ipc")
    except ImportError:
        with client.stream(f"{path}.csv", filters, "text/csv") as response:
            return _with_batch(_read_csv(io.TextIOWrapper(response, "utf-8", newline="")), batch_id)
    with client.stream(f"{path}.arrow", filters, _ARROW) as response:
        arrow = ipc.open_stream(response).read_all()
    for at, field in enumerate(arrow.schema):
        if pyarrow.types.is_dictionary(field.type):  # tables with different dictionaries cannot be concatenated
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
    return None if cell == "" else WORDS.get(cell) if cell in WORDS else float(cell)


def _whole(cell: str) -> int | None:
    return int(cell) if cell else None


_CELLS: dict[str, Any] = {"step": _whole, "value": _number, "timestamp": as_time}
