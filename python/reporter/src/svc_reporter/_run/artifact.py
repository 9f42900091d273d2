"""Artifacts: named, versioned sets of files, such as a model or a data set.

`Artifact` collects files for `run.log_artifact`. `StoredArtifact` is a version that the service has, as
`run.use_artifact` and `Api().artifact` return it; `download()` returns the folder with its files.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from .._delivery.download import Fetch, download_files
from .._shared.plain import plain, text_of
from .._shared.unsupported import nothing

if TYPE_CHECKING:
    from .files import RunFiles

_MAX_FILES = 10_000


class Artifact:
    """`svc.Artifact("resnet", type="model")`; add files, then `run.log_artifact(artifact)`."""

    def __init__(
        self,
        name: str,
        type: str = "dataset",
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **_more: Any,
    ) -> None:
        self.name = name
        self.type = type
        self.description = description
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.aliases: list[str] = []
        self.entries: dict[str, tuple[Path, bool]] = {}
        """By path in the artifact: the file, and whether it may be linked instead of copied."""
        self._scratch: Any = None
        self._record: str | None = None
        self._files: RunFiles | None = None

    def add_file(self, local_path: Any, name: str | None = None, *_args: Any, **more: Any) -> Path:
        """Add a file; with `policy="immutable"` it is linked instead of copied, and must not change any more."""
        source = Path(local_path)
        if not source.is_file():
            raise ValueError(f"{source} is not a file")
        self._put(name or source.name, source, more.get("policy") == "immutable")
        return source

    def add_dir(self, local_path: Any, name: str | None = None, *_args: Any, **more: Any) -> None:
        """Add the files of a folder and of those in it."""
        root = Path(local_path)
        if not root.is_dir():
            raise ValueError(f"{root} is not a folder")
        for source in sorted(root.rglob("*")):
            if source.is_file():
                inner = source.relative_to(root).as_posix()
                self._put(f"{name}/{inner}" if name else inner, source, more.get("policy") == "immutable")

    @contextmanager
    def new_file(self, name: str, mode: str = "w", encoding: str | None = None) -> Iterator[IO[Any]]:
        """Write a file of the artifact: `with artifact.new_file("labels.txt") as file: …`."""
        target = self._own_folder() / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, mode, encoding=encoding or (None if "b" in mode else "utf-8")) as file:
            yield file
        self._put(name, target, True)

    def add(self, obj: Any, name: str) -> None:
        """Add a table, an image or another value as a file."""
        from .._capture.media import media_of
        from .._disk.file_store import Kept

        found = media_of(obj)
        if found is None or isinstance(found, list):
            raise ValueError(f"{type(obj).__name__} cannot be added to an artifact; add a file")

        def keep(content: bytes | Path, media_type: str, suffix: str) -> Kept:
            target = self._own_folder() / (name if name.endswith(suffix) else f"{name}{suffix}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.read_bytes())
            self._put(target.relative_to(self._own_folder()).as_posix(), target, True)
            return Kept("", 0)

        found.taken()(keep)

    def add_reference(self, uri: str, name: str | None = None, **_more: Any) -> None:
        """A file of this machine (`file://`) is added; another address becomes part of the metadata."""
        parts = urlsplit(text_of(uri))
        if parts.scheme in ("", "file") and Path(unquote(parts.path)).exists():
            path = Path(unquote(parts.path))
            self.add_dir(path, name) if path.is_dir() else self.add_file(path, name)
            return
        self.metadata.setdefault("references", []).append({"uri": text_of(uri), "name": name})

    def remove(self, item: Any) -> None:
        self.entries.pop(text_of(item), None)

    def wait(self, timeout: float | None = None) -> Artifact:
        """Wait until the service has all of it, `timeout` seconds at most (default: an hour)."""
        until = time.monotonic() + (3_600 if timeout is None else timeout)
        while self._state is None and self._files is not None and time.monotonic() < until:
            time.sleep(0.05)
        return self

    @property
    def version(self) -> str | None:
        """`v3`; None until the service has said so: see `wait`."""
        return None if self._state is None else text_of(self._state["version"])

    @property
    def digest(self) -> str | None:
        return None if self._state is None else text_of(self._state["digest"])

    @property
    def state(self) -> str:
        """`draft`, `pending` (on its way), or `committed`."""
        if self._record is None:
            return "draft"
        return "pending" if self._state is None else "committed"

    @property
    def size(self) -> int:
        return sum(source.stat().st_size for source, _ in self.entries.values() if source.exists())

    @property
    def file_count(self) -> int:
        return len(self.entries)

    def submit(self, files: RunFiles, project: str, aliases: Iterable[str]) -> None:
        """Hand the files over to the reporter, which sends them."""
        metadata = plain({**self.metadata, **({"description": self.description} if self.description else {})})
        kept = [alias for alias in dict.fromkeys(map(text_of, aliases)) if alias != "latest"]
        data = {"project": project, "name": text_of(self.name), "type": text_of(self.type), "metadata": metadata}
        listed = ((path, source, link) for path, (source, link) in self.entries.items())
        self.aliases = kept
        self._files = files
        self._record = files.add_artifact({**data, "aliases": kept}, listed)

    @property
    def _state(self) -> dict[str, Any] | None:
        return None if self._files is None else self._files.versions.get(self._record or "")

    def _put(self, path: str, source: Path, link: bool) -> None:
        if len(self.entries) >= _MAX_FILES and path not in self.entries:
            raise ValueError(f"an artifact has at most {_MAX_FILES:,} files")
        self.entries[text_of(path).replace(os.sep, "/").lstrip("/")] = (source, link)

    def _own_folder(self) -> Path:
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="svc-artifact-")
        return Path(self._scratch.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return nothing(f"artifact.{name}", "names", "Artifact")


class StoredArtifact:
    """A version of an artifact that the service has. `info` has all fields of docs/api.md."""

    def __init__(self, project: str, info: Mapping[str, Any], fetch: Fetch) -> None:
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
        from ..query import Api

        batch_id = self.info.get("batch_id")
        return None if batch_id is None else Api().run(str(batch_id))

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


def artifact_of(
    given: Any, name: str | None, type: str | None, default_name: Callable[[], str], aliases: Iterable[str] | None
) -> tuple[Artifact, list[str]]:
    """The artifact to log: as given, or of a file or a folder; and its aliases, also those behind a `:` of its name."""
    if isinstance(given, Artifact):
        found = given
    else:
        path = Path(given)
        base, _, alias = text_of(name or path.name or default_name()).partition(":")
        found = Artifact(base, type or "unspecified")
        found.add_dir(path) if path.is_dir() else found.add_file(path)
        aliases = [*(aliases or ()), *([alias] if alias else ())]
    return found, [aliases] if isinstance(aliases, str) else list(aliases or ())
