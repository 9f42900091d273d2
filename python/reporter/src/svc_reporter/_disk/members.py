"""Which processes of this machine still report a batch: the last one of a batch that has no owner ends it.

Each process holds a shared lock on `runs/<batch>.members` while it reports; the system releases it when the process
dies. At its end a process adds its counts to the file and tries to lock it alone: who succeeds is the last one. It does
not end a batch whose owner, which reports its start and end, has a record on this machine (run_record.py).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .own_files import open_file, own_folder
from .run_record import RUNS, find_record
from .spill import fcntl, safe_name

_MAX_BYTES = 4 * 1024 * 1024


class Member:
    """The membership of this process. Its methods do not raise; without file locks (Windows) no one is the last."""

    def __init__(self, places: list[Path], batch_id: str) -> None:
        self._places = places
        self._batch_id = batch_id
        self._pid = os.getpid()
        self._descriptor: int | None = None
        self._path: Path | None = None

    def enter(self) -> None:
        if fcntl is None:
            return
        for place in self._places:
            try:
                own_folder(place, create=True)
                path = own_folder(place / RUNS, create=True) / f"{safe_name(self._batch_id)}.members"
                for _ in range(20):
                    descriptor = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
                    fcntl.flock(descriptor, fcntl.LOCK_SH)
                    if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                        self._descriptor, self._path = descriptor, path
                        return
                    os.close(descriptor)  # the last process has removed it meanwhile
            except OSError:
                continue

    def leave(self, counts: dict[str, Any], send_end: Callable[[dict[str, Any]], None] | None) -> bool:
        """Add this process's `n_done`, `n_failed` and `began` (Unix time). The last one calls `send_end` with all sums.

        Only a process that joined has `send_end`. Returns whether it was called.
        """
        descriptor, path = self._descriptor, self._path
        self._descriptor = None
        if descriptor is None or path is None or self._pid != os.getpid():
            return False
        try:
            os.write(descriptor, json.dumps(counts).encode("ascii") + b"\n")
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: another process reports
            if os.fstat(descriptor).st_nlink == 0:
                return False
            path.unlink()
            os.lseek(descriptor, 0, os.SEEK_SET)
            sums = _sums(os.read(descriptor, _MAX_BYTES))
            if send_end is None or sums is None or find_record(self._places, self._batch_id) is not None:
                return False
            send_end(sums)
            return True
        except (OSError, ValueError, KeyError, TypeError):
            return False
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """In a forked child: it does not report this batch, so its copy of the lock must not outlive the parent's."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.close(descriptor)
            except OSError:
                return


def _sums(content: bytes) -> dict[str, Any] | None:
    """The sums over all processes; None if none of them had a job."""
    lines = [json.loads(line) for line in content.splitlines()]
    if not any(line["n_done"] + line["n_failed"] for line in lines):
        return None
    return {
        "n_done": sum(int(line["n_done"]) for line in lines),
        "n_failed": sum(int(line["n_failed"]) for line in lines),
        "total_elapsed_s": round(max(0.0, time.time() - min(float(line["began"]) for line in lines)), 3),
    }
