"""A tracking store of MLflow, by MLflow's client: a folder (`mlruns`), a database or a server."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ._records import FAILED, FINISHED, RUNNING, STOPPED, End, Facts, Fault, File, Found, Record, Row, Source, Wanted
from ._records import project_name as named
from ._values import Point, by_step, numbered, typed

_STATES = {"FINISHED": FINISHED, "FAILED": FAILED, "KILLED": STOPPED}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:")
_PAGE = 1_000
_MAX_TAG = 120
_FACTS = {
    "mlflow.note.content": "notes",
    "mlflow.user": "user",
    "mlflow.source.name": "command",
    "mlflow.source.git.commit": "commit",
}


def open_source(wanted: Wanted) -> Source:
    # Newer releases refuse folders unless this is set; nothing is written here.
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import mlflow

    path = wanted.path
    if not _ADDRESS.match(path):
        folder = Path(path)
        if not folder.exists():
            raise FileNotFoundError(2, "there is no such folder or database", path)
        path = f"sqlite:///{folder.resolve()}" if folder.is_file() else folder.resolve().as_uri()
    return _MLflow(wanted, mlflow.MlflowClient(path), path)


class _MLflow(Source):
    name = "mlflow"

    def __init__(self, wanted: Wanted, client: Any, uri: str) -> None:
        self._wanted = wanted
        self.client = client
        self.uri = uri
        self._scratch = tempfile.TemporaryDirectory(prefix="svc-import-")

    def close(self) -> None:
        self._scratch.cleanup()

    def runs(self) -> Iterator[Found | Fault]:
        runs: list[tuple[str, Any]] = []
        for experiment in self._pages(lambda token: self.client.search_experiments(page_token=token)):
            found = self._pages(
                lambda token, own=experiment: self.client.search_runs(
                    [own.experiment_id], max_results=_PAGE, page_token=token
                )
            )
            runs += [(experiment.name, run) for run in found]
        self.total = len(runs)
        runs.sort(key=lambda pair: pair[1].info.start_time or 0)
        names = {run.info.run_id: run.info.run_name for _, run in runs}
        parents = {run.data.tags.get("mlflow.parentRunId") for _, run in runs}
        for project, run in runs:
            parent = run.data.tags.get("mlflow.parentRunId")
            own = run.info.run_id if run.info.run_id in parents else None
            group = parent or own
            reader = _Run(self, run, f"{names.get(group) or group}" if group else None)
            target = named(self._wanted.project or project)
            title = f"{run.info.run_name or run.info.run_id}"
            yield Found(run.info.run_id, target, int(run.info.start_time or 0), reader.records, title=title)
            self.read += 1

    @staticmethod
    def _pages(ask: Any) -> Iterator[Any]:
        token = None
        while True:
            page = ask(token)
            yield from page
            token = page.token
            if not token:
                return

    def history(self, run_id: str, name: str) -> list[Point]:
        """The points of a metric."""
        store = getattr(getattr(self.client, "_tracking_client", None), "store", None)
        if hasattr(store, "ManagedSessionMaker"):
            return _selected(store, run_id, name)
        found = self.client.get_metric_history(run_id, name)
        return [(int(one.step), int(one.timestamp), float(one.value)) for one in found]

    def local_files(self, run: Any) -> Path | None:
        """The folder of a run's files, if they are on this disk; also where the store was moved."""
        uri = run.info.artifact_uri or ""
        if _ADDRESS.match(uri) and not uri.startswith("file:"):
            return None
        folder = Path(url2pathname(urlsplit(uri).path))
        if not folder.is_dir() and self.uri.startswith("file:"):
            store = Path(url2pathname(urlsplit(self.uri).path))
            return store.joinpath(str(run.info.experiment_id), str(run.info.run_id), "artifacts")
        return folder

    def download(self, run_id: str, path: str) -> Path:
        from mlflow.artifacts import download_artifacts

        folder = tempfile.mkdtemp(dir=self._scratch.name)
        return Path(download_artifacts(run_id=run_id, artifact_path=path, tracking_uri=self.uri, dst_path=folder))


def _selected(store: Any, run_id: str, name: str) -> list[Point]:
    """The points of a metric in a database, by MLflow's own connection. Its client makes two objects of each."""
    from mlflow.store.tracking.dbmodels.models import SqlMetric

    columns = (SqlMetric.step, SqlMetric.timestamp, SqlMetric.value, SqlMetric.is_nan)
    with store.ManagedSessionMaker() as session:
        rows = session.query(*columns).filter_by(run_uuid=run_id, key=name).all()
    return [(int(step), int(ms), math.nan if is_nan else float(value)) for step, ms, value, is_nan in rows]


class _Run:
    def __init__(self, source: _MLflow, run: Any, group: str | None) -> None:
        self._source = source
        self._run = run
        self._group = group

    def records(self) -> Iterator[Record]:
        run = self._run
        yield Facts(self._facts())
        yield from self._metrics()
        local = self._source.local_files(run)
        if local is None:
            yield from self._files("")
        else:
            for path in sorted(local.rglob("*")) if local.is_dir() else ():
                if path.is_file():
                    yield File(path.relative_to(local).as_posix(), path)
        state = _STATES.get(run.info.status, RUNNING)
        if state != RUNNING:
            yield End(int(run.info.end_time or run.info.start_time or 0), state, f"MLflow: {run.info.status}")

    def _facts(self) -> dict[str, Any]:
        info, data = self._run.info, self._run.data
        config: dict[str, Any] = {name: typed(text) for name, text in data.params.items()}
        tags: list[str] = []
        facts: dict[str, Any] = {"name": info.run_name, "group": self._group}
        for name, text in data.tags.items():
            if name in _FACTS:
                facts[_FACTS[name]] = text
            elif not name.startswith("mlflow."):
                tag = f"{name}={text}" if text else name
                if len(tag) <= _MAX_TAG and tag.isprintable():
                    tags.append(tag)
                else:
                    config[f"tag.{name}"] = text
        inputs = getattr(getattr(self._run, "inputs", None), "dataset_inputs", None) or ()
        for at, one in enumerate(inputs):
            config[f"dataset.{at}"] = {"name": one.dataset.name, "digest": one.dataset.digest}
        return {**facts, "config": config, "tags": tags, "summary": dict(data.metrics)}

    def _metrics(self) -> Iterator[Record]:
        series: dict[str, list[Point]] = {}
        steps_of: dict[str, list[Point]] = {}
        for name in self._run.data.metrics:
            points: list[Point] = []
            try:
                points = self._source.history(self._run.info.run_id, name)
            except Exception as error:  # of MLflow, for one damaged file or a server's refusal
                yield Fault(f"metric {name}", f"{type(error).__name__}: {error}")
            points.sort(key=lambda point: (point[0], point[1]))
            series[name], steps = numbered(points)
            if steps is not None:
                added = [(at, ms, step) for (at, ms, _), step in zip(series[name], steps, strict=True)]
                steps_of[f"{name}/step"] = added
        for step, ms, values in by_step(series):
            yield Row(step, ms, values)
        for step, ms, values in by_step(steps_of):
            yield Row(step, ms, values, added=True)

    def _files(self, folder: str) -> Iterator[Record]:
        source, run_id = self._source, self._run.info.run_id
        try:
            listed = source.client.list_artifacts(run_id, folder or None)
        except Exception as error:
            yield Fault(f"files of {folder or 'the run'}", f"{type(error).__name__}: {error}")
            return
        for one in listed:
            if one.is_dir:
                yield from self._files(one.path)
                continue
            try:
                copy = source.download(run_id, one.path)
            except Exception as error:
                yield Fault(f"file {one.path}", f"{type(error).__name__}: {error}")
                continue
            yield File(one.path, copy)
            copy.unlink(missing_ok=True)  # the writer has taken it
