"""Downloads files of a batch or an artifact, and checks each against its hash."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import Any

from .._shared.errors import QueryError

_BLOCK = 1024 * 1024
Fetch = Callable[[str], AbstractContextManager[Any]]
"""Opens the content at an address of the service, for reading. Raises QueryError."""


def download_files(
    files: Iterable[Mapping[str, Any]], folder: Path, fetch: Fetch, *, only_changed: bool = True
) -> list[Path]:
    """Download into a folder. Returns the paths of files that were fetched; others had the content already."""
    fetched = []
    for one in files:
        target = folder.joinpath(*safe_parts(str(one["path"])))
        if only_changed and has_content(target, one):
            continue
        if not one.get("url"):
            raise QueryError(f"{one['path']} has not been uploaded yet")
        target.parent.mkdir(parents=True, exist_ok=True)
        download(str(one["url"]), target, fetch, sha256=str(one["sha256"]))
        fetched.append(target)
    folder.mkdir(parents=True, exist_ok=True)
    return fetched


def download(url: str, target: Path, fetch: Fetch, *, sha256: str) -> None:
    """Download one file. It appears under its name once it is complete and has this hash."""
    scratch = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}")
    digest = hashlib.sha256()
    try:
        with fetch(url) as response, open(scratch, "wb") as file:
            while block := response.read(_BLOCK):
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != sha256:
            raise QueryError(f"{target.name} was cut or changed on its way: its hash is another one")
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def has_content(path: Path, one: Mapping[str, Any]) -> bool:
    try:
        if path.stat().st_size != int(one["size"]):
            return False
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest() == str(one["sha256"])
    except (OSError, ValueError):
        return False


def safe_parts(path: str) -> tuple[str, ...]:
    """The parts of a path below a folder. Raises ValueError for one that leads out of it."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or any(p in ("..", ".") or "\\" in p or ":" in p or "\0" in p for p in parts):
        raise ValueError(f"{path!r} is not a path below a folder")
    return parts
