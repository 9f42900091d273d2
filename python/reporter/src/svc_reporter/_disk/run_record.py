"""The record of a run on its machine, which svc-agent checks before it reruns a batch.

One file per batch, `<spill folder>/runs/<file-safe batch id>.json`, 0600 in a 0700 folder:

    {"version": 1, "batch_id", "project", "url", "host", "command", "cwd", "hash",
     "pid", "start_time", "boot_id", "started_at", "ended_at", "earlier": [{"command", "cwd", "hash"}]}

`hash` is the SHA-256 of the command in UTF-8, as 64 hexadecimal digits. `command` is the text that was sent to the
service, with secrets masked. `ended_at` is null until the run has ended. `earlier` has other commands that reported the
same batch before, newest first: a rerun runs the one that the service received first.

An attacker with a leaked token can send the service a wrong command, but cannot change this file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._shared.ids import now_ms, timestamp
from .._shared.plain import clean_text
from .._shared.process import ProcessIdentity
from .own_files import own_folder, read_file
from .spill import safe_name

RUNS = "runs"
VERSION = 1
KEPT_FILES = 1_000
KEPT_DAYS = 90
FOREIGN_KEPT_DAYS = 365
"""For runs of other machines in a shared folder: it is unknown whether their processes have ended."""
_EARLIER = 20
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class RunRecord:
    path: Path
    data: dict[str, Any]

    @property
    def process(self) -> ProcessIdentity | None:
        return ProcessIdentity.from_data(self.data)

    @property
    def ended(self) -> bool:
        return self.data.get("ended_at") is not None


def write_started(
    places: list[Path], *, batch_id: str, project: str, url: str | None, host: str, command: str, cwd: str
) -> Path:
    """Write the record of this process's run into the first writable folder of `places`; returns the file.

    Call it before the run is sent to the service. Raises OSError if no folder is writable.
    """
    failure: OSError | None = None
    for place in places:
        try:
            own_folder(place, create=True)
            folder = own_folder(place / RUNS, create=True)
            path = folder / record_name(batch_id)
            command, cwd = clean_text(command), clean_text(cwd)  # as the envelope is cleaned before it is sent
            facts = {"command": command, "cwd": cwd, "hash": command_hash(command)}
            data = {
                "version": VERSION,
                "batch_id": batch_id,
                "project": project,
                "url": url,
                "host": host,
                **facts,
                **ProcessIdentity.own().as_data(),
                "started_at": timestamp(now_ms()),
                "ended_at": None,
                "earlier": _earlier(path, batch_id, facts),
            }
            _replace(path, data)
            prune(folder, host)
            return path
        except OSError as error:
            failure = failure or error
    raise failure or FileNotFoundError("no folder for the record of a run")


def other_process(places: list[Path], batch_id: str, host: str) -> ProcessIdentity | None:
    """The other process of this machine that still reports this batch; None if none is known to."""
    record = find_record(places, batch_id)
    if record is None or record.ended or record.data.get("host") != host:
        return None
    process = record.process
    return process if process is not None and process.pid != os.getpid() and process.is_alive() else None


def write_ended(path: Path) -> None:
    """Add the end of this process's run to its record, unless another process has replaced it. Raises OSError."""
    record = read_record(path)
    if record is not None and not record.ended and record.data.get("pid") == os.getpid():
        _replace(path, {**record.data, "ended_at": timestamp(now_ms())})


def find_record(places: list[Path], batch_id: str) -> RunRecord | None:
    """The newest record of a batch in `places` (as `_spill.folders` lists them)."""
    found = [read_record(place / RUNS / record_name(batch_id)) for place in places]
    mine = [record for record in found if record is not None and record.data.get("batch_id") == batch_id]
    return max(mine, key=lambda record: str(record.data.get("started_at")), default=None)


def read_record(path: Path) -> RunRecord | None:
    """None for a file that is missing, that another user owns or may write to, or that is no record."""
    try:
        data = json.loads(read_file(path, _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    is_record = isinstance(data, dict) and data.get("version") == VERSION and isinstance(data.get("batch_id"), str)
    return RunRecord(path, data) if is_record else None


def record_name(batch_id: str) -> str:
    return f"{safe_name(batch_id)}.json"


def command_hash(command: str) -> str:
    """SHA-256 of the command in UTF-8, in hexadecimal; what `confirm` of a rerun request carries as well."""
    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def prune(folder: Path, host: str) -> int:
    """Remove records of ended runs that are older than 90 days or beyond the newest 1,000; returns how many.

    A run whose process has ended counts as ended. A record of a run that may still be running stays.
    """
    files: list[tuple[float, Path]] = []
    try:
        with os.scandir(folder) as entries:
            files.extend(
                (entry.stat(follow_symlinks=False).st_mtime, Path(entry.path))
                for entry in entries
                if entry.name.endswith(".json")
            )
    except OSError:
        return 0
    files.sort(reverse=True)
    now = time.time()
    removed = 0
    for rank, (modified, path) in enumerate(files):
        age_days = (now - modified) / 86_400
        if (rank >= KEPT_FILES or age_days > KEPT_DAYS) and _is_over(path, host, age_days):
            try:
                path.unlink()
                removed += 1
            except OSError:
                continue
    return removed


def _is_over(path: Path, host: str, age_days: float) -> bool:
    record = read_record(path)
    if record is None:
        return False  # not a record: another file
    if record.ended:
        return True
    process = record.process
    if process is None:
        return True
    if record.data.get("host") != host:
        return age_days > FOREIGN_KEPT_DAYS
    alive = process.is_alive()
    return age_days > FOREIGN_KEPT_DAYS if alive is None else not alive


def _earlier(path: Path, batch_id: str, facts: dict[str, str]) -> list[dict[str, str]]:
    """Earlier commands of this batch: a run that is resumed with the same id may have another command."""
    before = read_record(path)
    if before is None or before.data.get("batch_id") != batch_id:
        return []
    listed = before.data.get("earlier")
    found: list[dict[str, str]] = []
    for each in [before.data, *(listed if isinstance(listed, list) else [])]:
        if isinstance(each, dict) and all(isinstance(each.get(name), str) for name in facts):
            known = {name: each[name] for name in facts}
            if known != facts and known not in found:
                found.append(known)
    return found[:_EARLIER]


def _replace(path: Path, data: dict[str, Any]) -> None:
    """Replace the file atomically, with mode 0600. Raises OSError."""
    scratch = path.with_name(f".{path.stem[:100]}.{uuid.uuid4().hex}")
    content = json.dumps(data).encode("ascii")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if os.write(descriptor, content) != len(content):
                raise OSError(28, "No space left on device", str(path))
        finally:
            os.close(descriptor)
        os.replace(scratch, path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
