"""`Api().runs()` and `Api().run()` as scripts for W&B call them: runs with `history()`, `summary` and `config`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._capture.axes import RESERVED
from ..errors import CommError, UsageError
from ._artifact import StoredArtifact
from ._batch import Batch
from ._client import Calls, Client, segment
from ._histories import metrics_of
from ._run_files import RunFile, stored
from ._table import Table
from ._values import as_number, as_time

_STATES = {"completed": "finished", "stopped": "killed", "lost": "crashed", "pending": "pending"}
"""W&B's word for a status; others are the same."""
_OWN_NAMES = {stored: name for name, stored in RESERVED.items()}


class RunSummary(dict[str, Any]):
    """The last value of each metric, and what the script set; `run.metric_summaries` has `min`, `max` and `best`."""

    @property
    def _json_dict(self) -> dict[str, Any]:
        return dict(self)


def _shown(value: Any) -> Any:
    """Of a metric: its last value, or what `define_metric(summary=…)` chose, `{"max": …}`."""
    if not isinstance(value, Mapping) or "last" not in value:
        return as_number(value)
    shown = value.get("shown")
    return {word: as_number(value.get(word)) for word in shown} if shown else as_number(value["last"])


class StoredRun:
    """A run of the service in W&B's words. `run.batch` is what `Api.batch` returns, with every field."""

    entity = ""
    sweep: Any = None
    """Of a trial: its sweep."""
    sweep_name: Any = None

    def __init__(self, client: Client, fields: dict[str, Any], calls: Calls) -> None:
        self.batch = Batch(client, fields)
        self._client = client
        self._calls = calls
        self.name: str = fields.get("name") or fields["id"]
        self.tags: list[str] = list(fields.get("tags") or ())
        self.notes: str | None = fields.get("notes")
        self.group: str | None = fields.get("group")
        self._summary: RunSummary | None = None
        self._latest: list[dict[str, Any]] | None = None

    id = property(lambda self: str(self.batch["id"]))
    storage_id = id
    project = property(lambda self: str(self.batch["project"]))
    display_name = property(lambda self: self.name)
    created_at = property(lambda self: self.batch.get("started_at"))
    createdAt = created_at
    heartbeat_at = property(lambda self: self.batch.get("last_seen_at"))
    job_type = property(lambda self: self.batch.get("experiment_type"))
    jobType = job_type
    url = property(lambda self: self._client.page(f"/b/{segment(self.id)}"))
    path = property(lambda self: [self.entity, self.project, self.id])
    lastHistoryStep = property(lambda self: max((step for step, _ in self._last_rows()), default=-1))

    def __repr__(self) -> str:
        return f"<Run {self.project}/{self.id} ({self.state})>"

    @property
    def state(self) -> str:
        """`running`, `finished`, `failed`, `crashed` (no sign of life) or `killed` (stopped)."""
        status = str(self.batch["status"]).lower()
        return _STATES.get(status, status)

    @property
    def user(self) -> Any:
        owner = self.batch.get("owner") or {}
        return type("User", (), {"name": owner.get("name"), "username": owner.get("name"), "email": None})()

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.batch.get("config") or {})

    @property
    def json_config(self) -> str:
        """W&B's JSON of the configuration."""
        return json.dumps({key: {"value": value} for key, value in self.config.items()})

    @property
    def summary_metrics(self) -> dict[str, Any]:
        return dict(self.summary)

    @property
    def commit(self) -> str | None:
        """The commit that the script's start recorded."""
        found = self.batch.get("commit")
        return None if found is None else str(found)

    @property
    def rawconfig(self) -> dict[str, Any]:
        return self.config

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The environment as the script's start recorded it."""
        found = self.batch.get("env_snapshot")
        if found is None:
            found = self._client.get(self.batch._path).get("env_snapshot")
        return found if isinstance(found, dict) else None

    @property
    def metric_summaries(self) -> dict[str, Any]:
        """`last`, `min`, `max` and `best` of each metric."""
        return dict(self.batch.get("summary") or {})

    @property
    def summary(self) -> RunSummary:
        """The latest values while the run goes on, and those of its end later."""
        if self._summary is None:
            found = RunSummary()
            for _, values in self._last_rows() if not self.batch.get("summary") else ():
                found.update({name: as_number(value) for name, value in values.items() if name != "epoch"})
            for name, value in (self.batch.get("summary") or {}).items():
                if isinstance(value, Mapping) and value.get("shown") == []:
                    continue  # define_metric(summary="none")
                found[_OWN_NAMES.get(name, name)] = _shown(value)
            if self.batch.get("elapsed_s") is not None:
                found.setdefault("_runtime", self.batch["elapsed_s"])
            self._summary = found
        return self._summary

    def _last_rows(self) -> list[tuple[int, dict[str, Any]]]:
        """The last step and the latest values of each job."""
        if self._latest is None:
            self._latest = list(self._client.items("/api/jobs", {"batch": self.id}))
        rows = [dict(job.get("latest") or {}) for job in self._latest]
        return [(int(row.get("epoch") or 0), row) for row in rows if row]

    # --- histories

    def history(
        self,
        samples: int | None = 500,
        keys: Iterable[str] | None = None,
        x_axis: str = "_step",
        pandas: bool = True,
        stream: str = "default",
    ) -> Any:
        """A row for each step: `_step`, `_timestamp`, and the metrics; with `keys` only steps that have all of them.

        Every step, never sampled: `samples` has no effect. A data frame if pandas is installed, else a list of
        dictionaries. `stream="system"` has the samples of the machine.
        """
        wanted = None if keys is None else list(dict.fromkeys([x_axis, *_listed(keys)]))
        rows = self._system_rows() if stream == "system" else list(self._rows(keys, wanted))
        rows.sort(key=lambda row: row.get(x_axis, 0) if isinstance(row.get(x_axis, 0), (int, float)) else 0)
        if not pandas:
            return rows
        try:
            frames: Any = importlib.import_module("pandas")
        except ImportError:
            return rows
        return frames.DataFrame(rows, columns=wanted) if wanted is not None else frames.DataFrame(rows)

    def scan_history(
        self,
        keys: Iterable[str] | None = None,
        page_size: int = 1000,
        min_step: int | None = None,
        max_step: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The rows of `history` as dictionaries; with `keys` only these, of the steps that have all of them."""
        yield from self._rows(keys, keys, min_step, max_step)

    def _rows(
        self,
        keys: Iterable[str] | None,
        shown: Iterable[str] | None,
        min_step: int | None = None,
        max_step: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The rows that have all of `keys`, with the values of `shown`."""
        columns = None if shown is None else _listed(shown)
        wanted = None if keys is None else _listed(keys)
        rows: dict[tuple[str, int], dict[str, Any]] = {}
        for point in self._points(None if wanted is None else [*wanted, *(columns or ())]).records():
            step = int(point["step"])
            if (min_step is not None and step < min_step) or (max_step is not None and step >= max_step):
                continue
            row = rows.setdefault((str(point["job_id"]), step), {"_step": step})
            row[_OWN_NAMES.get(point["key"], point["key"])] = point["value"]
            at = point["timestamp"]
            row["_timestamp"] = at.timestamp() if hasattr(at, "timestamp") else at
        started = as_time(self.batch.get("started_at"))
        for _, row in sorted(rows.items(), key=lambda item: (item[0][1], item[0][0])):
            if started is not None and isinstance(row.get("_timestamp"), (int, float)):
                row["_runtime"] = max(0.0, row["_timestamp"] - started.timestamp())
            if wanted is None:
                yield row
            elif all(name in row for name in wanted):
                yield {name: row[name] for name in columns or () if name in row}

    beta_scan_history = scan_history

    def _points(self, keys: Sequence[str] | None) -> Table:
        names = None if keys is None else [RESERVED.get(key, key) for key in keys if not key.startswith("_")]
        if names == []:
            names = None  # `_step` alone: that of every point
        return metrics_of(self._client, [self.id], {"key": names})

    def _system_rows(self) -> list[dict[str, Any]]:
        from ._histories import resources_of

        found = resources_of(self._client, self.id, {"key": None, "job": None})
        return [{"_timestamp": row["time"].timestamp(), row["key"]: row["value"]} for row in found.records()]

    # --- files and artifacts

    def files(
        self, names: Iterable[str] | None = None, per_page: int = 50, pattern: str | None = None
    ) -> list[RunFile]:
        """Its files; each has `name`, `size`, `url`, `download()`. `pattern` is SQL's: `%.pt`."""
        wanted = set(names or ())
        return [one for one in self._files() if (not wanted or one.name in wanted) and one.is_like(pattern)]

    def _files(self) -> list[RunFile]:
        return [RunFile(self._client, one) for one in self.batch.files()]

    def file(self, name: str) -> RunFile:
        """Raises CommError if there is none."""
        try:
            return RunFile(self._client, self.batch.file(name))
        except KeyError:
            raise CommError(f"{self!r} has no file {name!r}") from None

    def logged_artifacts(self, per_page: int = 100) -> list[StoredArtifact]:
        """The versions of artifacts that it made: each has `name`, `type`, `aliases`, `files()`, `download()`."""
        return self._artifacts("made")

    def used_artifacts(self, per_page: int = 100) -> list[StoredArtifact]:
        """The versions of artifacts that it used."""
        return self._artifacts("used")

    def _artifacts(self, relation: str) -> list[StoredArtifact]:
        return [
            stored(self._client, self.project, str(one["name"]), str(one["version"]), self._calls.run)
            for one in self._related(relation)
        ]

    def _related(self, relation: str) -> Iterator[dict[str, Any]]:
        """The versions that it made or used."""
        return self._client.items(f"{self.batch._path}/artifacts", {"relation": relation})

    # --- changes

    def update(self) -> None:
        """Send changes of `name`, `tags`, `notes` and `group`; needs a session, not a token."""
        self._calls.update(self.id, name=self.name, tags=self.tags, notes=self.notes, group=self.group)

    save = update

    def load(self, force: bool = False) -> dict[str, Any]:
        """Read the run again."""
        self.batch = Batch(self._client, self._client.get(self.batch._path))
        self._summary = self._latest = None
        return dict(self.batch)

    def wait_until_finished(self) -> None:
        import time

        while self.state in ("running", "pending"):
            time.sleep(2)
            self.load()

    def delete(self, delete_artifacts: bool = False) -> None:
        raise UsageError("runs are deleted on the page, where they go to the trash first")


def _listed(keys: Iterable[str]) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)
