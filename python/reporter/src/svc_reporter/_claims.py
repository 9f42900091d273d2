"""Who replays a spill file: claimed by rename, so that exactly one process wins; kept by progress.

A claim's name identifies its maker. Once its maker has ended (same host: no such process, or another start time;
another host: no progress for an hour) any process may claim it again, and continues at its offset.
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
"""In a claim's name, where the system does not tell when a process started."""


@dataclass(frozen=True)
class Claim:
    """A spill file that this process alone replays."""

    path: Path
    original: str
    """The file's name before it was claimed."""


def waiting(folder: Path, tuning: Tuning) -> list[Path]:
    """Files of `folder` that may be claimed now, oldest modification first."""
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
    """Take the file for this process; None when another was quicker."""
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
    """Give the rest of a claimed file back for a later replay, under its old name if that is free.

    Returns where it is now.
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
            # No hard links here. A rename may overwrite, so take a name that no other process uses.
            if name == held.original:
                continue
            try:
                os.rename(held.path, target)
            except OSError:
                return held.path  # stays a claim; another process takes it over once this one has ended
        else:
            _remove(held.path)
        _remove(_offset_path(held.path))
        return target
    return held.path


def finish(held: Claim) -> None:
    _remove(held.path)
    _remove(_offset_path(held.path))


def read_offset(path: Path) -> int:
    """Bytes of the file that the service has acknowledged; 0 when that was noted for another file."""
    try:
        offset, head = _offset_path(path).read_text("ascii").split()
        return max(0, int(offset)) if head == _head(path) else 0
    except (OSError, ValueError):
        return 0


def write_offset(path: Path, offset: int, of: Path | None = None) -> None:
    """Remember what was acknowledged. Losing it costs only repeats, which the service answers as duplicates.

    An offset left behind by a crash must never be applied to a younger file of the same name, so it names
    the file by a hash of its first bytes, which hold the first event's id.
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
    """The offset noted under the name `source` for the file that is now called `target`."""
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
