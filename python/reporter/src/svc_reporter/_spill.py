"""The spill folder: files of events that could not be sent, one JSON object per line, until a replay sends them.

All processes of a user share the folder:

    <batch>.jsonl                              open for appending
    <batch>.jsonl~host~pid~start~nonce         claimed by that process for replay (see _claims.py)
    <batch>.jsonl….offset                      how much of it the service has acknowledged
    rejected/<batch>.jsonl                     rejected by the service for a reason that a user can fix
    runs/<batch>.json                          the record of a run (see _run_record.py); not a spill file

For each append a writer opens the file by name, takes a shared lock and checks that the name still refers to the
opened file. A replayer renames the file and takes an exclusive lock before it reads. So no line is appended to a file
that another process has already replayed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: an open file cannot be renamed, so no lock is needed
    fcntl = None

REJECTED = "rejected"
BLOCK_BYTES = 1024 * 1024
RESERVE_BYTES = 1024**3
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def file_name(batch_id: str) -> str:
    return f"{safe_name(batch_id)}.jsonl"


def safe_name(batch_id: str) -> str:
    """The id if it is a safe file name; otherwise the escaped id with a hash, so that names stay unique."""
    if _SAFE.fullmatch(batch_id) and not _RESERVED.fullmatch(batch_id):
        return batch_id
    digest = hashlib.sha256(batch_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    escaped = quote(batch_id, safe="", errors="replace").replace("~", "%7E").replace(".", "%2E")[:60]
    return f"_{escaped}-{digest}"


def folders(configured: str | None) -> list[Path]:
    """Folders for spill files, in order of preference: the configured one or ~/.svc-reporter, then a temporary one.

    The temporary folder is used if the first is not writable (containers, quota). Replays read both.
    """
    fallback = Path(tempfile.gettempdir()) / f"svc-reporter-{_user_id()}"
    if configured:
        return [Path(configured).expanduser(), fallback]
    try:
        home = Path.home()
    except RuntimeError:  # no HOME and no passwd entry
        return [fallback]
    return [home / ".svc-reporter", fallback]


class SpillFolder:
    """Appends to spill files. Its methods raise OSError."""

    def __init__(self, candidates: list[Path]) -> None:
        self._candidates = candidates

    @property
    def candidates(self) -> list[Path]:
        return list(self._candidates)

    def append(
        self, batch_id: str, lines: Iterable[bytes], *, below: str = "", use_reserve: bool = False
    ) -> tuple[int, Path]:
        """Append whole lines, to a file in the subfolder `below`. Returns how many were written, and the file.

        Stops at the first line that does not fit on the disk; raises OSError if no line was written. Leaves 5% of the
        disk, at most 1 GiB, free for other programs unless `use_reserve` is set.
        """
        pending = list(lines)
        failure: OSError | None = None
        for folder in self._candidates:
            try:
                directory = ensure_private(folder / below if below else folder, folder)
                path = directory / file_name(batch_id)
                if not use_reserve:
                    _leave_room(directory, sum(map(len, pending)))
                return _append(path, pending), path
            except OSError as error:
                failure = failure or error
        raise failure or FileNotFoundError("no spill folder")


def _append(path: Path, lines: list[bytes]) -> int:
    """Write lines in blocks of about BLOCK_BYTES. Returns how many whole lines were written."""
    descriptor = _open_current(path)
    written = 0
    try:
        lead = b"\n" if _ends_incomplete(descriptor) else b""
        while written < len(lines):
            block = [lead + lines[written] + b"\n"]
            size = len(block[0])
            while written + len(block) < len(lines) and size < BLOCK_BYTES:
                block.append(lines[written + len(block)] + b"\n")
                size += len(block[-1])
            try:
                count = os.write(descriptor, b"".join(block))
            except OSError:
                if written:
                    return written
                raise
            lead = b""
            for record in block:
                count -= len(record)
                if count < 0:
                    if written:
                        return written
                    raise OSError(28, "No space left on device", str(path))
                written += 1
        return written
    finally:
        os.close(descriptor)


def _leave_room(directory: Path, size: int) -> None:
    """Raises OSError if writing `size` bytes would leave less than the reserve free."""
    try:
        info = os.statvfs(directory)
    except (AttributeError, OSError):
        return  # Windows, or a file system without this figure
    reserve = min(info.f_blocks * info.f_frsize // 20, RESERVE_BYTES)
    if info.f_blocks and info.f_bavail * info.f_frsize - size < reserve:
        raise OSError(28, f"less than {reserve // 1024**2:,} MiB would be left free on this disk", str(directory))


def ensure_private(directory: Path, root: Path) -> Path:
    """Create the folder with mode 0700. Raises PermissionError if another user owns it, or if it is a link in /tmp."""
    for each in (root, directory):
        try:
            each.mkdir(mode=0o700, parents=each is root)
        except FileExistsError:
            pass
        info = each.stat(follow_symlinks=False) if each is not root else each.lstat()
        if stat.S_ISLNK(info.st_mode) and str(each).startswith(tempfile.gettempdir()):
            raise PermissionError(13, "is a symbolic link", str(each))
        if hasattr(os, "getuid") and not stat.S_ISLNK(info.st_mode) and info.st_uid != os.getuid():
            raise PermissionError(13, "belongs to another user", str(each))
    return directory


def _open_current(path: Path) -> int:
    """Open the file for appending with a shared lock. Returns its descriptor; raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    for _ in range(20):
        descriptor = os.open(path, flags, 0o600)
        try:
            lock(descriptor, exclusive=False)
            here, there = os.fstat(descriptor), os.stat(path)
            if os.path.samestat(here, there):
                return descriptor
        except FileNotFoundError:
            pass  # a replayer renamed it between open and lock
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise OSError(11, "other processes keep claiming the spill file", str(path))


def lock(descriptor: int, *, exclusive: bool, timeout_s: float = 2.0) -> bool:
    """Take an advisory lock within `timeout_s` seconds. False if it was not obtained; callers then go on without."""
    if fcntl is None:
        return False
    kind = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, kind)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        except OSError:
            return False


def _ends_incomplete(descriptor: int) -> bool:
    """Whether the file ends in an incomplete line, because its writer died."""
    size = os.fstat(descriptor).st_size
    if size == 0:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) != b"\n"


def _user_id() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else re.sub(r"\W", "", os.environ.get("USERNAME", "user"))
