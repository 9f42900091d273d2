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

from ._process import ProcessIdentity, start_time
from ._spill import lock
from ._tuning import Tuning

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
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        if not (name.endswith(".jsonl") or _is_orphan(folder, name, tuning)):
            continue
        path = folder / name
        try:
            info = path.stat()
        except OSError:
            continue  # another process was faster
        if not path.is_dir():
            found.append((info.st_mtime_ns, name, path))
    return [path for _, _, path in sorted(found)]


def claim(path: Path) -> Claim | None:
    """Claim the file for this process; None if another process claimed it first."""
    original = path.name.split("~", 1)[0]
    nonce = uuid.uuid4().hex[:8]
    target = path.with_name(f"{original}~{_host()}~{os.getpid()}~{start_time(os.getpid()) or _NO_START}~{nonce}")
    try:
        os.rename(path, target)
    except OSError:
        return None
    offset = _read_moved_offset(path, target)
    if offset:
        write_offset(target, offset)
    _remove(_offset_path(path))
    try:
        descriptor = os.open(target, os.O_RDWR)
    except OSError:
        return Claim(target, original)
    try:
        lock(descriptor, exclusive=True)  # wait for a writer that opened the file before the rename
    finally:
        os.close(descriptor)
    return Claim(target, original)


def release(held: Claim) -> Path:
    """Make the rest of a claimed file available for a later replay, under its old name if that is free.

    Returns its path. Never raises.
    """
    for name in (held.original, f"{held.original[: -len('.jsonl')]}.{uuid.uuid4().hex[:8]}.jsonl"):
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
    try:
        offset, head = _offset_path(path).read_text("ascii").split()
        return max(0, int(offset)) if head == _head(path) else 0
    except (OSError, ValueError):
        return 0


def write_offset(path: Path, offset: int, of: Path | None = None) -> None:
    """Store how many bytes the service has acknowledged. Never raises: without it, events are only sent twice.

    The offset is stored with a hash of the file's first bytes, which contain the first event's id, so that an offset
    left behind by a crash does not apply to a newer file of the same name.
    """
    try:
        target = _offset_path(path)
        scratch = target.with_name(target.name + ".new")
        with open(scratch, "w", encoding="ascii", opener=_private) as file:
            file.write(f"{offset} {_head(of or path)}\n")
        os.replace(scratch, target)
    except OSError:
        return


def _is_orphan(folder: Path, name: str, tuning: Tuning) -> bool:
    parts = name.rsplit("~", 4)
    if len(parts) != 5 or not parts[0].endswith(".jsonl") or "." in parts[4]:
        return False
    _, host, pid, start, _ = parts
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


def _read_moved_offset(source: Path, target: Path) -> int:
    """The offset stored under the old name `source` of the file `target`."""
    try:
        offset, head = _offset_path(source).read_text("ascii").split()
        return max(0, int(offset)) if head == _head(target) else 0
    except (OSError, ValueError):
        return 0


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _head(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(512)).hexdigest()[:16]


def _offset_path(path: Path) -> Path:
    return path.with_name(path.name + ".offset")


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:60] or "host"
