"""Artifacts: named, versioned sets of files, such as a model or a data set.

`Artifact` collects files for `run.log_artifact`. A version that the service has is a `StoredArtifact`
(query/_artifact.py), as `run.use_artifact` and `Api().artifact` return it.
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
