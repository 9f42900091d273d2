"""The calls of W&B's public Api that `Api` answers: runs, artifacts, projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._shared.errors import QueryError
from ..errors import CommError
from ._artifact import StoredArtifact, parsed
from ._client import Calls, Client, segment
from ._run_files import stored
from ._run_filters import matches, project_of, sort_of, sweep_in
from ._run_list import Runs
from ._runs import StoredRun
from ._sweeps import StoredSweep, sweep_of, sweeps_of, trial_of


class Project(dict[str, Any]):
    """A project: the fields of docs/api.md, and W&B's `name`, `entity`, `path`, `url`, `id`."""

    def __init__(self, client: Client, fields: Mapping[str, Any], calls: Calls) -> None:
        super().__init__(fields)
        self._client = client
        self._calls = calls

    entity = ""
    name = property(lambda self: str(self["slug"]))
    id = name
    path = property(lambda self: [self.entity, self.name])
    url = property(lambda self: self._client.page(f"/p/{segment(self.name)}"))
    created_at = property(lambda self: self.get("created_at"))

    def sweeps(self, per_page: int = 50) -> list[StoredSweep]:
        """Its sweeps, newest first."""
        return sweeps_of(self._client, self.name, self._calls)


class WandbCalls:
    """Base of `Api`."""

    default_entity = ""
    """W&B's team. Here a project has members instead."""
    _client: Client
    update: Any

    def runs(
        self,
        path: str | None = None,
        filters: Mapping[str, Any] | None = None,
        order: str | None = "+created_at",
        per_page: int = 50,
        include_sweeps: bool = True,
        lazy: bool = True,
    ) -> Runs:
        """Runs as scripts for W&B read them: `run.history()`, `.scan_history()`, `.summary`, `.config`, `.state`.

        `path` is `project` or `entity/project`. `filters` are W&B's: `{"state": "finished", "config.lr": {"$lt": 1}}`.
        The trials of a sweep are the runs of `{"sweep": id}`; without that a sweep is one run.
        Raises `errors.UsageError` for a filter or an order that is not known.
        """
        own = sweep_in(filters or {})
        if own is not None:
            trials = self.sweep(own).sorted_runs(order or "+created_at")
            return Runs(run for run in trials if matches(run, filters or {}))
        found = self._client.items("/api/batches", {"project": project_of(path), **sort_of(order)})
        runs = (StoredRun(self._client, one, self) for one in found)
        return Runs(run for run in runs if matches(run, filters or {}))

    def run(self, path: str) -> StoredRun:
        """One run: of `id`, `project/id` or `entity/project/id`. Raises `errors.CommError` if there is none."""
        own = path.strip("/").rpartition("/")[2].removeprefix("runs/")
        try:
            return StoredRun(self._client, self._client.get(f"/api/batches/{segment(own)}"), self)
        except QueryError as error:
            trial = trial_of(self._client, own, self)
            if trial is not None:
                return trial
            raise CommError(f"there is no run {path!r}: {error}") from error

    def sweep(self, path: str = "") -> StoredSweep:
        """A sweep: of `id`, `project/id` or `entity/project/id`. Raises `errors.CommError` if there is none.

        `sweep.runs` are its trials, `sweep.best_run()` is the best one, `sweep.config` its definition.
        """
        return sweep_of(self._client, path, self)

    def artifact(self, name: str, type: str | None = None) -> StoredArtifact:
        """A version of an artifact: `api.artifact("vision/resnet:best").download()` returns the folder.

        The version or alias is `latest` if the name has none. Raises QueryError if the service has no such artifact, or
        one of another type, and ValueError for a name without a project.
        """
        project, base, version = parsed(name, None)
        found = stored(self._client, project, base, version, self.run)
        if type is not None and found.type != type:
            raise QueryError(f"{name!r} is an artifact of type {found.type!r}, not {type!r}", status=404)
        return found

    def artifact_exists(self, name: str, type: str | None = None) -> bool:
        """Whether `artifact` would find it."""
        try:
            self.artifact(name, type)
        except QueryError as error:
            if error.status != 404:
                raise
            return False
        return True

    def artifacts(
        self,
        project: str | None = None,
        name: str | None = None,
        *,
        type: str | None = None,
        type_name: str | None = None,
        per_page: int = 50,
        tags: Any = None,
    ) -> Any:
        """The artifacts of a project: `name`, `type`, `versions`, `latest`, `aliases`, `size`, ...

        As with W&B, `artifacts("model", "vision/resnet")` or `artifacts(type_name=, name=)` are the versions of one,
        newest first. Raises ValueError without a project.
        """
        if name is not None:
            return self.artifact_versions(type_name or type or project, name)
        if project is None:
            raise ValueError("give the project of the artifacts, or name= as 'project/name'")
        found = self._client.items(f"/api/projects/{segment(project)}/artifacts", {"type": type or type_name})
        return list(found)

    def artifact_versions(self, type_name: str | None, name: str, per_page: int = 50) -> list[StoredArtifact]:
        """The versions of an artifact, newest first."""
        project, base, _ = parsed(name, None)
        listed = self._client.items(f"/api/projects/{segment(project)}/artifacts/{segment(base)}")
        return [stored(self._client, project, base, str(one["version"]), self.run) for one in listed]

    def projects(self, entity: str | None = None, per_page: int = 50) -> list[Project]:
        """The projects that the token's user may read."""
        return [Project(self._client, one, self) for one in self._client.items("/api/projects")]

    def project(self, name: str, entity: str | None = None) -> Project:
        """One project. Raises QueryError if there is none."""
        return Project(self._client, self._client.get(f"/api/projects/{segment(project_of(name) or name)}"), self)

    def flush(self) -> None:
        """W&B keeps runs that it has read; here each call reads them again."""
