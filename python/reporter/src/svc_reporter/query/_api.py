"""`Api`: reads batches, jobs and metrics in notebooks (contract §9). Histories are complete, never sampled."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .._capture.summary import guessed_goal
from ._batch import Batch
from ._client import Client, segment
from ._follow import Kind, Message, follow
from ._histories import metrics_of, resources_of
from ._table import FrameKind, Table
from ._values import as_number, as_time, flattened
from ._wandb_calls import WandbCalls

_JOB_FIRST = ("batch_id", "job_id", "status", "model", "dataset", "started_at", "ended_at", "elapsed_s", "epochs")
_PLACE = ("batch_id", "job_id", "step")
"""The key of a row of a wide table. A timestamp is not part of it: series of one epoch may differ in theirs."""
_BATCH_FIRST = ("id", "name", "project", "status", "started_at", "ended_at", "elapsed_s", "group", "tags", "notes")
_BATCH_LEFT_OUT = ("owner", "config", "summary", "env_snapshot", "traceback", "slots", "can")
_GROUPS = (("param", "params"), ("metric", "metrics"), ("latest", "latest"))
_LINES_A_PAGE = 500

Names = str | Iterable[str] | None
Goal = Literal["min", "max"]


class Best(NamedTuple):
    """The best point of a metric, and its batch."""

    batch: dict[str, Any]
    job_id: str
    step: int
    value: float


class Api(WandbCalls):
    """Reads through the service's REST interface, as SVC_TOKEN's user.

    `frame` says what the `*_frame` methods return: "pandas", "polars", "table" (a `Table`, which has
    `.records()` and needs nothing installed), or "auto": the first of these that is installed. Batches and jobs are
    dictionaries with the fields of docs/api.md; in tables times are datetimes in UTC, and nested parameters are
    columns such as `param.optimizer.lr`.

    `update` needs a session: the `token` that `POST /api/auth/login` answers with.

    W&B's arguments are taken, too: `timeout` is `timeout_s`; `overrides` and `api_key` have no effect.
    """

    def __init__(
        self,
        url: str | Mapping[str, Any] | None = None,
        token: str | None = None,
        *,
        frame: FrameKind = "auto",
        timeout_s: float = 60,
        timeout: float | None = None,
        overrides: Mapping[str, Any] | None = None,
        api_key: str | None = None,
    ) -> None:
        own = None if isinstance(url, Mapping) else url  # W&B's first argument is `overrides`
        self._client = Client(own, token, timeout_s if timeout is None else timeout)
        self._frame = frame

    # --- batches

    def batches(
        self,
        *,
        project: Names = None,
        status: Names = None,
        host: Names = None,
        owner: Names = None,
        tag: Names = None,
        group: Names = None,
        q: str | None = None,
        where: Names = None,
        sort: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Batches, newest first; several values of one filter mean "or".

        `where` are conditions (`"lr < 0.01"`); one job of the batch must meet all of them. `sort` is a field such as
        `elapsed`, `param.lr` or `min.val_loss`. Archived batches are left out.
        """
        filters = {"project": project, "status": status, "host": host, "owner": owner, "tag": tag, "group": group}
        more = {"q": q, "where": where, "sort": sort, "order": order}
        return list(self._client.items("/api/batches", {**filters, **more}, limit))

    def batches_table(
        self,
        *,
        project: Names = None,
        status: Names = None,
        host: Names = None,
        owner: Names = None,
        tag: Names = None,
        group: Names = None,
        q: str | None = None,
        where: Names = None,
        sort: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
    ) -> Table:
        """One row per batch: its fields, then `config.*` and `summary.<metric>.last` (`min`, `max`, `best`).

        The summary is sent at the end of a run, so that of a run that goes on or was killed is empty: `jobs_frame` has
        the latest values of every job.
        """
        found = self.batches(
            project=project,
            status=status,
            host=host,
            owner=owner,
            tag=tag,
            group=group,
            q=q,
            where=where,
            sort=sort,
            order=order,
            limit=limit,
        )
        return Table.of_records([_batch_row(batch) for batch in found], _BATCH_FIRST)

    def batches_frame(
        self,
        *,
        project: Names = None,
        status: Names = None,
        host: Names = None,
        owner: Names = None,
        tag: Names = None,
        group: Names = None,
        q: str | None = None,
        where: Names = None,
        sort: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """`batches_table` as a data frame."""
        table = self.batches_table(
            project=project,
            status=status,
            host=host,
            owner=owner,
            tag=tag,
            group=group,
            q=q,
            where=where,
            sort=sort,
            order=order,
            limit=limit,
        )
        return table.to_frame(frame or self._frame)

    def batch(self, batch_id: str) -> Batch:
        """One batch: a dictionary with its `config`, `summary`, `notes`, `tags`, `env_snapshot`, and with methods.

        `files()` lists its files, `media("samples")` its images, tables and the like.
        """
        return Batch(self._client, self._client.get(_batch(batch_id)))

    def config(self, batch_id: str) -> dict[str, Any]:
        """The configuration of the run with its updates; empty if it has none."""
        return dict(self.batch(batch_id).get("config") or {})

    def best(
        self,
        metric: str,
        goal: Goal | None = None,
        *,
        project: Names = None,
        status: Names = None,
        tag: Names = None,
        group: Names = None,
        where: Names = None,
    ) -> Best | None:
        """The batch with the least or the greatest finite value of a metric among all its points, not only the last.

        Without a goal, the name decides: the greatest value of an accuracy, the least of a loss and of other names.
        None, without a warning, if no batch has such a point: check the spelling of the metric then. Raises ValueError
        for another goal than "min" and "max".
        """
        if goal is None:
            goal = "max" if guessed_goal(metric) == "max" else "min"
        if goal not in ("min", "max"):
            raise ValueError(f"goal must be 'min' or 'max', got {goal!r}")
        filters = {"project": project, "status": status, "tag": tag, "group": group, "where": where}
        order = {"sort": f"{goal}.{metric}", "order": "asc" if goal == "min" else "desc"}
        for batch in self._client.items("/api/batches", {**filters, **order}, 1):
            points = (
                (point["value"], point)
                for point in metrics_of(self._client, [batch["id"]], {"key": metric}).records()
                if math.isfinite(point["value"])
            )
            found = min(points, key=_first, default=None) if goal == "min" else max(points, key=_first, default=None)
            if found is not None:
                return Best(batch, found[1]["job_id"], found[1]["step"], found[0])
        return None

    def update(
        self,
        batch_id: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        group: str | None = None,
        starred: bool | None = None,
        archived: bool | None = None,
    ) -> dict[str, Any]:
        """Change these fields of a batch; None leaves a field unchanged. Returns the batch. Needs a session."""
        wanted = {"name": name, "notes": notes, "group": group, "starred": starred, "archived": archived}
        changes: dict[str, Any] = {key: value for key, value in wanted.items() if value is not None}
        if tags is not None:
            changes["tags"] = [tags] if isinstance(tags, str) else list(tags)
        if not changes:
            raise ValueError("nothing to change: give name, notes, tags, group, starred or archived")
        found: dict[str, Any] = self._client.patch(_batch(batch_id), changes)
        return found

    # --- jobs

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
        """Jobs, newest first, with the fields of docs/api.md."""
        filters = {"project": project, "batch": batch_ids, "status": status, "model": model, "dataset": dataset}
        return list(self._client.items("/api/jobs", filters, limit))

    def jobs_table(
        self,
        batch_ids: Names = None,
        *,
        project: Names = None,
        status: Names = None,
        model: Names = None,
        dataset: Names = None,
        limit: int | None = None,
    ) -> Table:
        """One row per job: its fields, then `param.*`, `metric.*` (final) and `latest.*`; nested ones flattened."""
        found = self.jobs(batch_ids, project=project, status=status, model=model, dataset=dataset, limit=limit)
        return Table.of_records([_row(job) for job in found], _JOB_FIRST)

    def jobs_frame(
        self,
        batch_ids: Names = None,
        *,
        project: Names = None,
        status: Names = None,
        model: Names = None,
        dataset: Names = None,
        limit: int | None = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """`jobs_table` as a data frame."""
        table = self.jobs_table(batch_ids, project=project, status=status, model=model, dataset=dataset, limit=limit)
        return table.to_frame(frame or self._frame)

    def attempts(self, batch_id: str, job_id: str) -> list[dict[str, Any]]:
        """The attempts of a job: each start, also in batches that reran it."""
        path = f"{_batch(batch_id)}/jobs/{segment(job_id)}/attempts"
        return list(self._client.get(path)["items"])

    # --- histories

    def series(self, batch_id: str, keys: Names = None, *, jobs: Names = None) -> list[dict[str, Any]]:
        """Every recorded point of a batch as `{"batch_id", "job_id", "key", "step", "value", "timestamp"}`."""
        return self.metrics_table(batch_id, keys, jobs=jobs).records()

    def metrics_table(
        self, batch_ids: str | Iterable[str], keys: Names = None, wide: bool = False, *, jobs: Names = None
    ) -> Table:
        """Every recorded point: `batch_id, job_id, key, step, value, timestamp`, where a step is an epoch.

        `wide` makes a column of each key, beside `batch_id, job_id, step`, ordered by these.

        Read as an Arrow stream if pyarrow is installed, else as CSV; both are complete. Warns of a key without points.
        """
        table = self._metrics(batch_ids, keys, jobs)
        return table.wide(_PLACE, "key", "value") if wide else table

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
        table = self._metrics(batch_ids, keys, jobs)
        kind = frame or self._frame
        return table.to_wide_frame(_PLACE, "key", "value", kind) if wide else table.to_frame(kind)

    def resources_table(self, batch_id: str, keys: Names = None, *, jobs: Names = None) -> Table:
        """Every resource sample: `batch_id, job_id, key, time, value`; `job_id` is None for the whole batch."""
        return resources_of(self._client, batch_id, {"key": keys, "job": jobs})

    def resources_frame(
        self, batch_id: str, keys: Names = None, *, jobs: Names = None, frame: FrameKind | None = None
    ) -> Any:
        """`resources_table` as a data frame."""
        return self.resources_table(batch_id, keys, jobs=jobs).to_frame(frame or self._frame)

    def logs(
        self,
        batch_id: str,
        *,
        job_id: str | None = None,
        level: str | None = None,
        stream: Literal["stdout", "stderr"] | None = None,
        q: str | None = None,
        tail: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Log lines, oldest first, read page by page; `tail`: only the last `tail` lines."""
        path = f"{_batch(batch_id)}/log-lines"
        filters: dict[str, Any] = {"job_id": job_id, "level": level, "stream": stream, "q": q}
        if tail is not None:
            yield from self._client.get(path, {**filters, "tail": tail})["items"]
            return
        after: int | None = None
        while True:
            page = self._client.get(path, {**filters, "after": after, "limit": _LINES_A_PAGE})
            yield from page["items"]
            after = page["next_after"]
            if after is None or not page["items"]:
                return

    def follow(
        self, batch_id: str, kinds: Iterable[Kind] = ("batch", "metrics", "logs"), *, timeout_s: float | None = None
    ) -> Iterator[Message]:
        """Messages about a batch from now on, live; ends when the batch ends, or after `timeout_s`.

        The first message is the current batch. Earlier data is read with the other methods.
        """
        return follow(self._client, batch_id, tuple(kinds), timeout_s)

    def close(self) -> None:
        """Close the connection; a later call opens another one."""
        self._client.close()

    def _metrics(self, batch_ids: str | Iterable[str], keys: Names, jobs: Names) -> Table:
        wanted = [batch_ids] if isinstance(batch_ids, str) else list(batch_ids)
        names = [keys] if isinstance(keys, str) else None if keys is None else list(keys)
        table = metrics_of(self._client, wanted, {"key": names, "job": jobs})
        missing = set(names or ()) - table.distinct("key")
        if missing and wanted:
            text = ", ".join(repr(name) for name in sorted(missing))
            warnings.warn(f"no points of {text} in these batches; check the spelling", stacklevel=3)
        return table


def _batch(batch_id: str) -> str:
    return f"/api/batches/{segment(batch_id)}"


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _batch_row(batch: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in batch.items() if name not in _BATCH_LEFT_OUT}
    row["owner"] = (batch.get("owner") or {}).get("name")
    for name in ("started_at", "ended_at", "last_seen_at", "last_received_at"):
        if name in row:
            row[name] = as_time(row[name])
    for name in ("config", "summary"):
        for key, value in flattened(batch.get(name) or {}, f"{name}."):
            row[key] = as_number(value)
    return row


def _row(job: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in job.items() if name not in ("id", "params", "metrics", "latest")}
    row["job_id"] = job.get("id")
    for name in ("started_at", "ended_at"):
        if name in row:
            row[name] = as_time(row[name])
    for prefix, name in _GROUPS:
        for key, value in flattened(job.get(name) or {}, f"{prefix}."):
            row[key] = as_number(value)
    return row
