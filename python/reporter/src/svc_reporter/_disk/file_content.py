"""The bytes of files that wait to be sent: hashes, links and copies."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from .own_files import open_file

_BLOCK = 1024 * 1024


def hash_of(path: Path) -> tuple[str, int]:
    """SHA-256 in hexadecimal, and the size."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def linked(source: Path, target: Path) -> bool:
    try:
        os.link(source.resolve(), target)
        info = target.lstat()
        return not hasattr(os, "getuid") or info.st_uid == os.getuid() or _not(target)
    except OSError:
        return False


def _not(target: Path) -> bool:
    target.unlink(missing_ok=True)
    return False


def copy(source: Path, target: Path) -> None:
    """Copy a file; on file systems that share blocks the copy costs nothing."""
    with open(source, "rb") as read, open(open_file(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as write:
        try:
            import fcntl

            fcntl.ioctl(write.fileno(), 0x40049409, read.fileno())  # FICLONE
            return
        except (ImportError, OSError):
            pass
        try:
            shutil.copyfileobj(read, write, _BLOCK)
        except OSError:
            target.unlink(missing_ok=True)
            raise
