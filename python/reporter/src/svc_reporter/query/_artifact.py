"""A version of an artifact that the service has; `download()` returns the folder with its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._delivery.download import Fetch, download_files
from .._shared.plain import text_of
from .._shared.unsupported import nothing

RunOf = Callable[[str], Any]
"""Finds a run by its id, as `Api().run` does."""


class StoredArtifact:
    """A version of an artifact that the service has. `info` has all fields of docs/api.md."""

    def __init__(self, project: str, info: Mapping[str, Any], fetch: Fetch, run_of: RunOf) -> None:
        self.info = dict(info)
        self.project = project
        self.source_name = text_of(info["name"])
        self.version = text_of(info["version"])
        self.name = f"{self.source_name}:{self.version}"
        self.type = text_of(info.get("type") or "")
        self.aliases: list[str] = list(info.get("aliases") or ())
        self.metadata: dict[str, Any] = dict(info.get("metadata") or {})
        self.description: str | None = self.metadata.get("description")
        self.digest = text_of(info.get("digest") or "")
        self.size = int(info.get("size") or 0)
        self._fetch = fetch
        self._run_of = run_of

    @property
    def qualified_name(self) -> str:
        return f"{self.project}/{self.name}"

    @property
    def state(self) -> str:
        return "committed" if self.info.get("state") == "ready" else text_of(self.info.get("state"))

    def files(self) -> list[dict[str, Any]]:
        """`{"path", "sha256", "size", "media_type", "uploaded", "url"}` of each file."""
        return list(self.info.get("files") or ())

    def logged_by(self) -> Any:
        """The run that made it, as `Api().run` returns it; None if there is none, or if it is gone."""
        batch_id = self.info.get("batch_id")
        return None if batch_id is None else self._run_of(str(batch_id))

    @property
    def created_at(self) -> Any:
        return self.info.get("created_at")

    def download(
        self, root: Any = None, *, only_changed: bool = True, path_prefix: str | None = None, **_more: Any
    ) -> str:
        """Download the files and return the folder: `root`, or `artifacts/<name>-<version>`.

        Every file is checked against its hash. With `only_changed` a file that is there with this hash is kept. Raises
        QueryError if the service does not answer, or if a file has not been uploaded yet.
        """
        folder = Path(root) if root is not None else Path("artifacts") / f"{self.source_name}-{self.version}"
        wanted = [one for one in self.files() if not path_prefix or one["path"].startswith(path_prefix)]
        download_files(wanted, folder, self._fetch, only_changed=only_changed)
        return str(folder)

    def file(self, root: Any = None) -> str:
        """Download an artifact of one file and return its path."""
        names = [one["path"] for one in self.files()]
        if len(names) != 1:
            raise ValueError(f"{self.name} has {len(names)} files; use download()")
        return str(Path(self.download(root)) / names[0])

    def get_path(self, name: str) -> Entry:
        """One file of the artifact. Raises KeyError if it has none of that name."""
        if not any(one["path"] == name for one in self.files()):
            raise KeyError(name)
        return Entry(self, name)

    get_entry = get_path

    def wait(self, timeout: float | None = None) -> StoredArtifact:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return nothing(f"artifact.{name}", "names", "Artifact")

    def __repr__(self) -> str:
        return f"<artifact {self.qualified_name}>"


class Entry:
    """One file of a stored artifact."""

    def __init__(self, artifact: StoredArtifact, path: str) -> None:
        self._artifact = artifact
        self.path = path

    def download(self, root: Any = None, **_more: Any) -> str:
        return str(Path(self._artifact.download(root, path_prefix=self.path)) / self.path)


def parsed(name: str, project: str | None) -> tuple[str, str, str]:
    """`team/vision/resnet:best` → project, name, version or alias. Raises ValueError without a project."""
    path, _, version = name.partition(":")
    *before, base = path.split("/")
    found = before[-1] if before else project
    if not found or not base:
        raise ValueError(f"{name!r} is not an artifact: write project/name:alias")
    return found, base, version or "latest"
