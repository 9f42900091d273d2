"""Claims: a process renames a spill file before it replays it, so that no other process does.

The new name identifies the process. Any process may claim the file again, and continues at its offset, once the first
one has ended (same host: no such process, or another start time; other host: no progress for an hour).
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from .._shared.process import ProcessIdentity, start_time
from .._shared.tuning import Tuning
from .own_files import open_file, own_folder, read_file
from .spill import free_name, is_spill_file, lock, own_place

_OFFSET_LIMIT = 100
_NO_START = "0"
"""Stands for the start time in a claim's name if the system does not provide it."""


@dataclass(frozen=True)
class Claim:
    """A spill file that this process alone replays."""

    path: Path
    original: str
    """The file's name before it was claimed."""


def waiting(folder: Path, tuning: Tuning) -> list[Path]:
    """Files of `folder` that can be claimed now, least recently modified first."""
    found: list[tuple[int, str, Path]] = []
    own = own_place(folder) == folder
    try:
        names = os.listdir(own_folder(folder) if own else folder)
    except OSError:
        return []
    for name in names:
        if not (name.endswith(".jsonl") or _is_orphan(folder, name, tuning)):
            continue
        path = folder / name
        try:
            descriptor = _open_spill_file(path, os.O_RDONLY)
        except OSError:
            continue  # another process was faster, or it is not a spill file
        try:
            found.append((os.fstat(descriptor).st_mtime_ns, name, path))
        finally:
            os.close(descriptor)
    return [path for _, _, path in sorted(found)]


def busy(folder: Path, tuning: Tuning) -> int:
    """How many files of `folder` another process is sending."""
    try:
        names = os.listdir(own_folder(folder) if own_place(folder) == folder else folder)
    except OSError:
        return 0
    return sum(_is_claim(name) and not _is_orphan(folder, name, tuning) for name in names)


def claim(path: Path) -> Claim | None:
    """Claim the file for this process; None if another process claimed it first, or if it is not a spill file."""
    original = path.name.split("~", 1)[0]
    nonce = uuid.uuid4().hex[:8]
    try:
        file = _identity(_open_spill_file(path, os.O_RDONLY))
        place = own_folder(own_place(path.parent), create=True)
        target = place / f"{original}~{_host()}~{os.getpid()}~{start_time(os.getpid()) or _NO_START}~{nonce}"
        os.rename(path, target)
        if not _is_still(target, file):
            os.rename(target, path)  # another file took the name meanwhile
            return None
        offset = _read_moved_offset(path, target)
        if offset is not None:
            write_offset(target, offset)
            _remove(_offset_path(path))
    except OSError:
        return None
    return Claim(target, original)


def release(held: Claim) -> Path:
    """Make the rest of a claimed file available for a later replay, under its old name if that is free.

    Returns its path. Never raises.
    """
    for name in (held.original, free_name(held.original)):
        target = held.path.with_name(name)
        if target.exists():
            continue
        offset = read_offset(held.path)
        if offset:
            write_offset(target, offset, of=held.path)
        try:
            os.link(held.path, target)
        except FileExistsError:
            continue
        except OSError:
            # The file system has no hard links. A rename may overwrite, so use a unique name.
            if name == held.original:
                continue
            try:
                os.rename(held.path, target)
            except OSError:
                return held.path  # keep the claim; another process can claim it once this one has ended
        else:
            _remove(held.path)
        _remove(_offset_path(held.path))
        return target
    return held.path


def finish(held: Claim) -> None:
    """Delete a claimed file and its offset."""
    _remove(held.path)
    _remove(_offset_path(held.path))


def read_offset(path: Path) -> int:
    """How many bytes of the file the service has acknowledged; 0 if no offset was stored for this file."""
    return _read_moved_offset(path, path) or 0


def write_offset(path: Path, offset: int, of: Path | None = None) -> None:
    """Store how many bytes the service has acknowledged. Never raises: without it, events are only sent twice.

    The offset is stored with a hash of the file's first bytes, which contain the first event's id, so that an offset
    left behind by a crash does not apply to a newer file of the same name.
    """
    try:
        target = _offset_path(path)
        scratch = target.with_name(target.name + ".new")
        with open(open_file(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="ascii") as file:
            file.write(f"{offset} {_head(of or path)}\n")
        os.replace(scratch, target)
    except OSError:
        return


def _is_claim(name: str) -> bool:
    parts = name.rsplit("~", 4)
    return len(parts) == 5 and parts[0].endswith(".jsonl") and "." not in parts[4]


def _is_orphan(folder: Path, name: str, tuning: Tuning) -> bool:
    if not _is_claim(name):
        return False
    _, host, pid, start, _ = name.rsplit("~", 4)
    if host != _host():
        newest = 0.0
        for path in (folder / name, _offset_path(folder / name)):
            try:
                info = path.stat()
                newest = max(newest, info.st_mtime, info.st_ctime)  # a rename moves ctime alone
            except OSError:
                continue
        return time.time() - newest > tuning.foreign_claim_stale_s
    if not pid.isdigit():
        return True
    maker = ProcessIdentity(int(pid), None if start == _NO_START else start, None)
    return maker.is_alive() is False


def _open_spill_file(path: Path, flags: int) -> int:
    """Open the spill file; returns its descriptor. Raises OSError, also if it is not a spill file."""
    descriptor = open_file(path, flags)
    own = own_place(path.parent) == path.parent
    try:
        if not is_spill_file(descriptor, path.name.split("~", 1)[0], own=own):
            raise PermissionError(1, "is not a spill file", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_still(target: Path, file: tuple[int, int]) -> bool:
    """Whether a renamed file is the one that was checked. Waits for a writer that opened it before the rename."""
    try:
        descriptor = open_file(target, os.O_RDWR)
    except OSError:
        return False
    lock(descriptor, exclusive=True)
    return _identity(descriptor) == file


def _identity(descriptor: int) -> tuple[int, int]:
    """Device and inode of an open file, which is then closed: Windows renames no open file."""
    info = os.fstat(descriptor)
    os.close(descriptor)
    return info.st_dev, info.st_ino


def _read_moved_offset(source: Path, target: Path) -> int | None:
    """The offset stored under the old name `source` of the file `target`; None if there is none for this file."""
    try:
        offset, head = read_file(_offset_path(source), _OFFSET_LIMIT).decode("ascii").split()
        return max(0, int(offset)) if head == _head(target) else None
    except (OSError, ValueError):
        return None


def _head(path: Path) -> str:
    return hashlib.sha256(read_file(path, 512)).hexdigest()[:16]


def _offset_path(path: Path) -> Path:
    return path.with_name(path.name + ".offset")


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:60] or "host"
