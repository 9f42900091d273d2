"""The spill folder: files of events that could not be sent, one JSON object per line, until a replay sends them.

The folder is ~/.svc-reporter (specification §2.3), with SVC_REPORTER_DIR the folder `.svc-reporter` in that one: the
user's folder may hold other files. All processes of a user share it:

    <batch>.jsonl                              open for appending
    <batch>.jsonl~host~pid~start~nonce         claimed by that process for replay (see claims.py)
    <batch>.jsonl….offset                      how much of it the service has acknowledged
    rejected/<batch>.jsonl                     rejected by the service for a reason that a user can fix
    rejected/<batch>.unreadable.jsonl          complete lines of spill files that are not events
    runs/<batch>.json                          the record of a run (see run_record.py); not a spill file

A file is a spill file if it contains an event (`is_spill_file`). The reporter never reads on, moves, sends or deletes
any other file, and appends to none. Earlier versions wrote into SVC_REPORTER_DIR itself: there, a spill file must also
have the name of its events' batch.

For each append a writer opens the file by name, takes a shared lock and checks that the name still refers to the
opened file. A replayer renames the file and takes an exclusive lock before it reads. So no line is appended to a file
that another process has already replayed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .own_files import open_file, own_folder

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: an open file cannot be renamed, so no lock is needed
    fcntl = None

REJECTED = "rejected"
FOLDER = ".svc-reporter"
UNREADABLE = ".unreadable.jsonl"
BLOCK_BYTES = 1024 * 1024
LINE_LIMIT = 1024 * 1024
"""Bytes of a line that can be an event: the service takes at most 256 KiB."""
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
    """Folders for spill files, in order of preference: ~/.svc-reporter or the configured one, then a temporary one.

    The temporary folder is used if the first is not writable (containers, quota). Replays read both.
    """
    fallback = Path(tempfile.gettempdir()) / f"svc-reporter-{_user_id()}"
    try:
        # Without HOME and an entry in passwd there is no home.
        place = Path(configured).expanduser() if configured else Path.home()
    except RuntimeError:
        return [fallback]
    return [place if place.name == FOLDER else place / FOLDER, fallback]


def first_writable(candidates: list[Path]) -> Path:
    """The folder that gets the next spill file, made if needed; the preferred one if none can be written."""
    for folder in candidates:
        try:
            if os.access(own_folder(folder, create=True), os.W_OK | os.X_OK):
                return folder
        except OSError:
            continue
    return candidates[0]


def earlier_folders(configured: str | None) -> list[Path]:
    """Folders in which earlier versions wrote spill files, and a user may have files, too."""
    if not configured:
        return []
    first = folders(configured)[0]
    return [first.parent] if first != Path(configured).expanduser() else []


def own_place(folder: Path) -> Path:
    """The reporter's own folder for claims of spill files in `folder`: the same, unless it is an earlier one."""
    parts = (folder.name, folder.parent.name) if folder.name == REJECTED else (folder.name,)
    if parts[-1] == FOLDER or parts[-1] == f"svc-reporter-{_user_id()}":
        return folder
    return folder.parent / FOLDER / REJECTED if folder.name == REJECTED else folder / FOLDER


def event_in(line: bytes) -> dict[str, Any] | None:
    """The event of a line, which must have the whole envelope (specification §2.1); None if it is not an event."""
    if b'"event_id"' not in line:
        return None
    try:
        event = json.loads(line)
        texts = ("event_id", "schema_version", "event_type", "timestamp", "batch_id")
        whole = all(isinstance(event[name], str) for name in texts) and isinstance(event["source"]["project"], str)
        return event if whole and isinstance(event["data"], dict) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def is_spill_file(descriptor: int, name: str, *, own: bool) -> bool:
    """Whether the open file contains events of a reporter among its first lines.

    In a folder that is not the reporter's `own`, `name` must be that of the events' batch.
    """
    os.lseek(descriptor, 0, os.SEEK_SET)
    for line in os.read(descriptor, LINE_LIMIT).splitlines():
        event = event_in(line)
        if event is not None:
            return own or re.sub(r"(\.[0-9a-f]{8})?\.jsonl$", "", name) == safe_name(event["batch_id"])
    return False


class SpillFolder:
    """Appends to spill files. Its methods raise OSError."""

    def __init__(self, candidates: list[Path], earlier: list[Path] | None = None) -> None:
        self._candidates = candidates
        self._earlier = earlier or []
        self._names: dict[tuple[Path, str], Path] = {}
        """Where another file has the usual name: the file of each folder and batch."""
        self._checked: dict[Path, tuple[int, int]] = {}
        """Device and inode of the files that were found to be spill files."""

    @classmethod
    def of(cls, configured: str | None) -> SpillFolder:
        """The folders for the setting SVC_REPORTER_DIR."""
        return cls(folders(configured), earlier_folders(configured))

    @property
    def candidates(self) -> list[Path]:
        return list(self._candidates)

    @property
    def sources(self) -> list[Path]:
        """Folders whose spill files a replay sends."""
        return [*self._candidates, *self._earlier]

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
                directory = own_folder(folder, create=True)
                if below:
                    directory = own_folder(folder / below, create=True)
                path = self._names.get((directory, batch_id), directory / file_name(batch_id))
                if not use_reserve:
                    leave_room(directory, sum(map(len, pending)))
                try:
                    return self._append(path, pending), path
                except NotASpillFile:
                    path = path.with_name(free_name(path.name))
                    self._names[directory, batch_id] = path
                    return self._append(path, pending), path
            except OSError as error:
                failure = failure or error
        raise failure or FileNotFoundError("no spill folder")

    def _append(self, path: Path, lines: list[bytes]) -> int:
        """Write lines in blocks of about BLOCK_BYTES. Returns how many whole lines were written."""
        descriptor = self._open_current(path)
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

    def _open_current(self, path: Path) -> int:
        """Open the file for appending with a shared lock. Returns its descriptor; raises OSError."""
        for _ in range(20):
            descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                lock(descriptor, exclusive=False)
                here, there = os.fstat(descriptor), os.stat(path, follow_symlinks=False)
                if os.path.samestat(here, there):
                    file = here.st_dev, here.st_ino
                    is_new = here.st_size and self._checked.get(path) != file
                    if is_new and not is_spill_file(descriptor, path.name, own=True):
                        raise NotASpillFile(17, "another file has the name of a spill file", str(path))
                    self._checked[path] = file
                    return descriptor
            except FileNotFoundError:
                pass  # a replayer renamed it between open and lock
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise OSError(11, "other processes keep claiming the spill file", str(path))


class NotASpillFile(OSError):
    """Another file has the name of a spill file."""


def free_name(name: str) -> str:
    """Another name for a spill file whose name is taken."""
    return f"{name[: -len('.jsonl')]}.{uuid.uuid4().hex[:8]}.jsonl"


def keep_unreadable(folder: Path, name: str, lines: list[bytes]) -> Path:
    """Append lines that are not events to a file in rejected/. Raises OSError."""
    folder = folder if folder.name == REJECTED else own_folder(folder / REJECTED, create=True)
    path = folder / f"{name.removesuffix('.jsonl').removesuffix('.unreadable')}{UNREADABLE}"
    descriptor = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open(descriptor, "ab") as file:
        file.write(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def leave_room(directory: Path, size: int) -> None:
    """Raises OSError if writing `size` bytes would leave less than the reserve free."""
    try:
        info = os.statvfs(directory)
    except (AttributeError, OSError):
        return  # Windows, or a file system without this figure
    reserve = min(info.f_blocks * info.f_frsize // 20, RESERVE_BYTES)
    if info.f_blocks and info.f_bavail * info.f_frsize - size < reserve:
        raise OSError(28, f"less than {reserve // 1024:,} KiB would be left free on this disk", str(directory))


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
