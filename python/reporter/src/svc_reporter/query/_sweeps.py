"""`Api().sweep()` as scripts for W&B call it: a sweep with its runs, which are the trials here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

from .._capture.axes import RESERVED
from .._shared.errors import QueryError
from ..errors import CommError, UsageError
from ._client import Calls, Client, segment
from ._histories import metrics_of, resources_of
from ._run_files import RunFile
from ._run_filters import field_of
from ._run_list import Runs
from ._runs import StoredRun
from ._table import Table

_METHODS = {"tpe": "bayes", "gp": "bayes"}
_STATES = {"stopped": "CANCELED"}
_FIELDS = ("createdAt", "updatedAt", "name", "sweep")
"""Orders by these are not by a value of the summary, which others are."""


class TrialRun(StoredRun):
    """A trial of a sweep. Its id names the sweep's batch and the job: `sweep-abc:trial-3`."""

    def __init__(
        self,
        client: Client,
        batch: Mapping[str, Any],
        job: Mapping[str, Any],
        calls: Calls,
        sweep: StoredSweep | None = None,
    ) -> None:
        own = {key: job[key] for key in ("status", "started_at", "ended_at", "elapsed_s", "tags", "notes")}
        of_batch = dict(batch.get("config") or {})
        more = {"name": job["id"], "config": {**of_batch, **(job.get("params") or {})}, "summary": job.get("metrics")}
        super().__init__(client, {**batch, **own, **more}, calls)
        self.job_id = str(job["id"])
        self._latest = [dict(job)]
        self._sweep = sweep

    id = property(lambda self: f"{self.batch['id']}:{self.job_id}")
    storage_id = id
    url = property(lambda self: self._client.page(f"/b/{segment(self.batch['id'])}"))

    @property
    def sweep(self) -> StoredSweep:
        """The sweep of this trial."""
        if self._sweep is None:
            self._sweep = sweep_of(self._client, str(self.batch["sweep_id"]), self._calls)
        return self._sweep

    sweep_name = sweepName = property(lambda self: self.batch["sweep_id"])

    @property
    def summary(self) -> Any:
        """The latest values, and those that the script set."""
        if self._summary is None:
            found, self._summary = super().summary, None
            for _, values in self._last_rows():
                for name, value in values.items():
                    if name != "epoch":
                        found.setdefault(_own_name(name), value)
            self._summary = found
        return self._summary

    def _points(self, keys: Any) -> Table:
        names = None if keys is None else [RESERVED.get(key, key) for key in keys if not key.startswith("_")]
        return metrics_of(self._client, [str(self.batch["id"])], {"key": names or None, "job": self.job_id})

    def _system_rows(self) -> list[dict[str, Any]]:
        found = resources_of(self._client, str(self.batch["id"]), {"key": None, "job": self.job_id})
        return [{"_timestamp": row["time"].timestamp(), row["key"]: row["value"]} for row in found.records()]

    def _files(self) -> list[RunFile]:
        return [RunFile(self._client, one) for one in self.batch.files(job_id=self.job_id)]

    def _related(self, relation: str) -> Iterator[Any]:
        return (one for one in super()._related(relation) if one["job_id"] == self.job_id)

    def load(self, force: bool = False) -> dict[str, Any]:
        """Read the trial again."""
        found = trial_of(self._client, self.id, self._calls)
        if found is not None:
            self.batch, self._latest, self._summary = found.batch, found._latest, None
        return dict(self.batch)

    def update(self) -> None:
        raise UsageError("a trial of a sweep is changed on the page")

    save = update


def _own_name(name: str) -> str:
    return {stored: own for own, stored in RESERVED.items()}.get(name, name)


class StoredSweep:
    """A sweep of the service in W&B's words. `sweep.document` is what the service says, with every field."""

    entity = username = ""

    def __init__(self, client: Client, document: Mapping[str, Any], calls: Calls) -> None:
        self.document = dict(document)
        self._client = client
        self._calls = calls
        self._runs: Runs | None = None

    id = property(lambda self: str(self.document["id"]))
    name = property(lambda self: str(self.document["name"]))
    project = property(lambda self: str(self.document["project"]))
    expected_run_count = property(lambda self: self.document["n_total"])
    path = property(lambda self: [self.entity, quote_plus(self.project), quote_plus(self.id)])
    url = property(lambda self: self._client.page(f"/b/{segment(self.document['batch_id'])}"))

    def __repr__(self) -> str:
        return f"<Sweep {self.project}/{self.id} ({self.state})>"

    @property
    def state(self) -> str:
        """`RUNNING`, `PAUSED`, `CANCELED` (stopped) or `FINISHED`."""
        state = str(self.document["state"])
        return _STATES.get(state, state.upper())

    @property
    def config(self) -> dict[str, Any]:
        """The definition in W&B's words."""
        given = self.document
        found = {"name": given["name"], "method": _METHODS.get(given["method"], given["method"])}
        found |= {"metric": dict(given["metric"]), "parameters": dict(given["parameters"])}
        optional = {"early_terminate": "early_stopping", "command": "command", "run_cap": "max_trials"}
        return {**found, **{name: given[own] for name, own in optional.items() if given.get(own) is not None}}

    @property
    def order(self) -> str:
        """`+summary_metrics.loss` if the sweep minimises `loss`."""
        metric = self.document["metric"]
        return ("-" if metric["goal"] == "maximize" else "+") + f"summary_metrics.{metric['name']}"

    @property
    def runs(self) -> Runs:
        """Its trials, oldest first."""
        if self._runs is None:
            self._runs = Runs(iter(self._trials()))
        return self._runs

    def _trials(self) -> list[TrialRun]:
        batch = self._client.get(f"/api/batches/{segment(self.document['batch_id'])}")
        jobs = self._client.items("/api/jobs", {"batch": batch["id"], "sort": "started_at", "order": "asc"})
        return [TrialRun(self._client, batch, job, self._calls, self) for job in jobs]

    def best_run(self, order: str | None = None) -> TrialRun | None:
        """The run with the best value of the sweep's metric in its summary, or the first one by `order`.

        None without runs. `svc.sweep(id).document["best"]` is the trial with the best value of all its points.
        """
        return next(iter(self.sorted_runs(order or self.order)), None)

    def sorted_runs(self, order: str) -> list[TrialRun]:
        """Its runs by W&B's order, `-acc` or `+config.lr`; those without such a value come last."""
        name = order.lstrip("+-")
        descends = not order.startswith("+")
        if name.partition(".")[0] not in ("config", "summary_metrics", "tags", *_FIELDS, "created_at"):
            name = f"summary_metrics.{name}"
        valued: list[tuple[Any, TrialRun]] = []
        others: list[TrialRun] = []
        for run in self._trials():
            value = field_of(run, name)
            if isinstance(value, Mapping):  # `define_metric(summary=…)`
                value = value.get("max" if descends else "min", value.get("last"))
            is_sortable = isinstance(value, (int, float)) and not math.isnan(value)
            if is_sortable or (isinstance(value, str) and name in (*_FIELDS, "created_at")):
                valued.append((value, run))
            else:
                others.append(run)
        valued.sort(key=lambda pair: pair[0], reverse=descends)
        return [run for _, run in valued] + others

    def load(self, force: bool = False) -> dict[str, Any]:
        """Read the sweep again; its runs are read when they are next asked for."""
        self.document = self._client.get(f"/api/sweeps/{segment(self.id)}")
        self._runs = None
        return dict(self.document)


def sweep_of(client: Client, path: str, calls: Calls) -> StoredSweep:
    """The sweep of `id`, `project/id` or `entity/project/id`. Raises CommError if there is none."""
    own = path.strip("/").rpartition("/")[2].removeprefix("sweep-")
    try:
        return StoredSweep(client, client.get(f"/api/sweeps/{segment(own)}"), calls)
    except QueryError as error:
        raise CommError(f"there is no sweep {path!r}: {error}") from error


def sweeps_of(client: Client, project: str, calls: Calls) -> list[StoredSweep]:
    """The sweeps of a project, newest first."""
    batches = client.items("/api/batches", {"project": project})
    return [sweep_of(client, str(one["sweep_id"]), calls) for one in batches if one.get("sweep_id")]


def trial_of(client: Client, own: str, calls: Calls) -> TrialRun | None:
    """The trial of an id such as `sweep-abc:trial-3`; None if there is none."""
    batch_id, _, job_id = own.partition(":")
    if not job_id:
        return None
    try:
        batch = client.get(f"/api/batches/{segment(batch_id)}")
    except QueryError:
        return None
    if batch.get("sweep_id") is None:
        return None
    jobs = client.items("/api/jobs", {"batch": batch_id})
    return next((TrialRun(client, batch, job, calls) for job in jobs if job["id"] == job_id), None)
