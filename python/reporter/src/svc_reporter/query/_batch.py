"""A batch as `Api.batch` returns it, with its files and media."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .._delivery.download import download, download_files, has_content, safe_parts
from ._client import Client, segment


class File(dict[str, Any]):
    """One file of a batch: `path`, `sha256`, `size`, `media_type`, `job_id`, `created_at`, `url`."""

    def __init__(self, client: Client, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self._client = client

    name = property(lambda self: str(self["path"]))
    size = property(lambda self: int(self["size"]))
    url = property(lambda self: str(self["url"]))

    def read(self) -> bytes:
        """The content. Raises QueryError."""
        with self._client.content(str(self["url"])) as response:
            found: bytes = response.read()
        return found

    def download(self, root: str | Path = ".", *, only_changed: bool = True) -> Path:
        """Download into the folder `root` and return the path. The content is checked against its hash."""
        target = Path(root).joinpath(*safe_parts(self["path"]))
        if not (only_changed and has_content(target, self)):
            target.parent.mkdir(parents=True, exist_ok=True)
            download(str(self["url"]), target, self._client.content, sha256=str(self["sha256"]))
        return target


class MediaValue(dict[str, Any]):
    """One value: `_type`, `caption`, `sha256`, `uploaded`, `url`, ... and `job_id`, `key`, `step`, `at`."""

    def __init__(self, client: Client, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self._client = client

    def read(self) -> bytes:
        """The content: a PNG, WAV, JSON, ... Raises QueryError, and ValueError if there is none yet."""
        if not self.get("url"):
            raise ValueError("this value has no content, or it has not been uploaded yet")
        with self._client.content(str(self["url"])) as response:
            found: bytes = response.read()
        return found


class Batch(dict[str, Any]):
    """A dictionary with the fields of docs/api.md, and these methods."""

    def __init__(self, client: Client, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self._client = client

    @property
    def _path(self) -> str:
        return f"/api/batches/{segment(str(self['id']))}"

    def files(self, prefix: str | None = None, *, job_id: str | None = None) -> list[File]:
        """Its files, ordered by path; only those whose path begins with `prefix`."""
        found = self._client.items(f"{self._path}/files", {"prefix": prefix, "job_id": job_id})
        return [File(self._client, one) for one in found]

    def file(self, path: str) -> File:
        """The file of this path. Raises KeyError if there is none."""
        for one in self.files(path):
            if one["path"] == path:
                return one
        raise KeyError(path)

    def download(self, root: str | Path = ".", prefix: str | None = None, *, only_changed: bool = True) -> list[Path]:
        """Download its files into a folder. Returns the paths of those that were fetched."""
        return download_files(self.files(prefix), Path(root), self._client.content, only_changed=only_changed)

    def media(
        self,
        keys: str | Iterable[str] | None = None,
        *,
        jobs: str | Iterable[str] | None = None,
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> list[MediaValue]:
        """Logged images, tables, histograms, ..., ordered by step; each with its `job_id`, `key`, `step` and `at`."""
        filters = {"key": keys, "job": jobs, "from": first_step, "to": last_step}
        return list(self._values(filters))

    def media_keys(self) -> list[dict[str, Any]]:
        """`key`, `type`, `jobs`, `points`, `first_step`, `last_step` of each name that has media."""
        return list(self._client.items(f"{self._path}/media/keys"))

    def _values(self, filters: dict[str, Any]) -> Iterator[MediaValue]:
        for item in self._client.items(f"{self._path}/media", filters):
            place = {name: item[name] for name in ("job_id", "key", "step", "at")}
            for value in item["values"]:
                yield MediaValue(self._client, {**value, **place})
