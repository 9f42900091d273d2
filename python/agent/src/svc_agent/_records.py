"""Checks a command against the records that reporters on this host wrote (svc_reporter's `_run_record.py`).

The service sends the agent the commands to run. An attacker with a leaked token could send a wrong command to the
service, but cannot change these files. So the agent starts a recorded command only if a record on this host has it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

NOT_RECORDED = "command_not_recorded_here"

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_MAX_BYTES = 4 * 1024 * 1024


def record_name(batch_id: str) -> str:
    """The file name of the record of a batch."""
    if _SAFE.fullmatch(batch_id) and not _RESERVED.fullmatch(batch_id):
        return f"{batch_id}.json"
    digest = hashlib.sha256(batch_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    escaped = quote(batch_id, safe="", errors="replace").replace("~", "%7E").replace(".", "%2E")[:60]
    return f"_{escaped}-{digest}.json"


def reporter_folders(env: Mapping[str, str]) -> list[Path]:
    """Folders with records of this user's reporters: ~/.svc-reporter and a temporary folder, and with SVC_REPORTER_DIR
    `.svc-reporter` in that folder, or the folder itself (earlier versions)."""
    place = Path(env["SVC_REPORTER_DIR"]).expanduser() if env.get("SVC_REPORTER_DIR") else None
    configured = [] if place is None else [place / ".svc-reporter", place]
    return [*configured, Path.home() / ".svc-reporter", Path(tempfile.gettempdir()) / f"svc-reporter-{os.getuid()}"]


def is_recorded(job: Mapping[str, Any], folders: list[Path]) -> bool:
    """Whether a record on this host has the command of `job` with its working directory.

    A working directory that the batch's owner entered (`overridden` contains `cwd`) needs no record.
    """
    batch_id, command, cwd = job.get("batch_id"), job.get("command"), job.get("cwd")
    if not isinstance(batch_id, str) or not isinstance(command, str):
        return False
    overridden = job.get("overridden")
    any_folder = isinstance(overridden, list) and "cwd" in overridden
    digest = hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()
    for run in _runs(folders, batch_id):
        same = run.get("command") == command and run.get("hash") == digest
        if same and (any_folder or run.get("cwd") == cwd):
            return True
    return False


def _runs(folders: list[Path], batch_id: str) -> Iterator[dict[str, Any]]:
    for folder in folders:
        data = read_own(folder / "runs" / record_name(batch_id))
        if isinstance(data, dict) and data.get("version") == 1 and data.get("batch_id") == batch_id:
            yield data
            earlier = data.get("earlier")
            if isinstance(earlier, list):
                yield from (each for each in earlier if isinstance(each, dict))


def read_own(path: Path) -> Any:
    """The content; None if the file is missing or no JSON, or if another user may have written it."""
    try:
        if not _is_private(path.parent.lstat(), stat.S_ISDIR):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            if not _is_private(os.fstat(descriptor), stat.S_ISREG):
                return None
            return json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return None


def _is_private(info: os.stat_result, is_kind: Any) -> bool:
    return bool(is_kind(info.st_mode)) and info.st_uid == os.getuid() and not info.st_mode & 0o022
