"""Files and artifacts of a run as scripts for W&B read them."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._delivery.download import safe_parts
from ._artifact import RunOf, StoredArtifact
from ._batch import File
from ._client import Client, segment


class Downloaded(io.TextIOWrapper):
    """The file on disk, open for reading as W&B's `download` returns it. It is also a path, with a path's methods."""

    def __init__(self, path: Path) -> None:
        super().__init__(open(os.fspath(path), "rb"), encoding="utf-8", errors="replace")  # noqa: SIM115 - closed with this
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "path":
            raise AttributeError(name)
        return getattr(self.path, name)

    def __str__(self) -> str:
        return str(self.path)


class RunFile(File):
    """A file of a run: `name`, `size`, `mimetype`, `url`, `download()`, and the fields of `Batch.files`."""

    mimetype = property(lambda self: str(self["media_type"]))
    updated_at = property(lambda self: self["created_at"])
    direct_url = property(lambda self: str(self["url"]))

    def is_like(self, pattern: str | None) -> bool:
        """Whether its name matches a pattern of SQL's LIKE; None matches every name."""
        if pattern is None:
            return True
        shape = "".join({"%": ".*", "_": "."}.get(char, re.escape(char)) for char in pattern)
        return re.fullmatch(shape, self.name, re.DOTALL) is not None

    def download(  # type: ignore[override]  # the arguments of W&B
        self, root: str | Path = ".", replace: bool = False, exist_ok: bool = False, **_more: Any
    ) -> Downloaded:
        """Download below `root` and return the open file. Raises ValueError if another file is there, as W&B does.

        With `replace=True` it is replaced, and with `exist_ok=True` it is kept.
        """
        target = Path(root).joinpath(*safe_parts(self["path"]))
        if target.exists() and not replace:
            if not exist_ok:
                raise ValueError(f"{target} exists: pass replace=True to replace it, or exist_ok=True to keep it")
            return Downloaded(target)
        return Downloaded(super().download(root))


def stored(client: Client, project: str, name: str, version: str, run_of: RunOf) -> StoredArtifact:
    """A version with its files. Raises QueryError."""
    path = f"/api/projects/{segment(project)}/artifacts/{segment(name)}/{segment(version)}"
    info: Mapping[str, Any] = client.get(path)
    return StoredArtifact(project, info, client.content, run_of)
