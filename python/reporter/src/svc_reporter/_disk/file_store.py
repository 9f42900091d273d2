"""Files on disk that wait to be sent: content by its hash, and a record of each use of it.

In the spill folder, `files/content/<sha256>-<store>` has the bytes. `files/todo/<name>.json` says where they belong: a
path of a batch, or an artifact with its files. A record is removed once the service has confirmed it; content goes
with the last record that needs it. A process that dies leaves both, and the watchdog, a later reporter or
`svc-reporter sync` sends them. A record is claimed by a lock on its file, which ends with the process that has it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .._shared.process import ProcessIdentity, hostname
from .file_content import copy, hash_of, linked
from .own_files import open_file, own_folder, read_file
from .spill import folders, leave_room, lock, safe_name

_FOLDER = "files"
_RECORD_LIMIT = 8 * 1024 * 1024
_DEFAULT_BYTES = 20 * 1024**3
_FOREIGN_S = 3600.0
"""Records of another host (a shared home folder) are taken after so long."""


class Kept(NamedTuple):
    """Content that is on disk, waiting to be sent."""

    sha256: str
    size: int
    name: str = ""
    """Of its file. Stores share no files: one would remove what another is about to name in a record."""


class NoRoom(OSError):
    """The files that wait would take more of the disk than SVC_FILES_SPILL_BYTES allows."""


@dataclass
class Record:
    """A file of a batch, an artifact, or a use of one, that the service has not confirmed yet."""

    path: Path
    data: dict[str, Any]

    @property
    def batch_id(self) -> str | None:
        found = self.data.get("batch_id")
        return found if isinstance(found, str) else None

    @property
    def contents(self) -> list[dict[str, Any]]:
        """The files of the record: `{"path", "sha256", "size", "content"}`; `content` is a name in the store."""
        return list(self.data.get("files") or ())

    @property
    def size(self) -> int:
        return sum(int(one["size"]) for one in self.contents)


class FileStore:
    """Its methods raise OSError."""

    def __init__(self, configured: str | None) -> None:
        self._places = folders(configured)
        self._lock = threading.Lock()
        self._used: int | None = None
        self._root: Path | None = None
        self._mark = uuid.uuid4().hex[:8]
        self._records_lock = threading.RLock()
        self._held: set[str] = set()
        """Content that a record will name soon. Guarded by `_records_lock`."""
        try:
            self.limit = max(0, int(os.environ.get("SVC_FILES_SPILL_BYTES") or _DEFAULT_BYTES))
        except ValueError:
            self.limit = _DEFAULT_BYTES

    # --- content

    def put(self, content: bytes | Path) -> Kept:
        """Store bytes, or a file by a copy. The same content is stored once."""
        if isinstance(content, bytes):
            digest = hashlib.sha256(content).hexdigest()
            target = self._content(create=True) / self._hold(digest)
            if not target.exists():
                self._write(target, content)
            return Kept(digest, len(content), target.name)
        staged = self.stage(content, link=False)
        return self.hashed(staged["content"])

    def stage(self, source: Path, *, link: bool) -> dict[str, Any]:
        """Take a file before its hash is known: by a hard link where that is possible and allowed, else by a copy."""
        folder = self._content(create=True)
        target = folder / f"staged-{uuid.uuid4().hex}"
        size = source.stat().st_size
        if not (link and linked(source, target)):
            self._reserve(folder, size)
            copy(source, target)
        return {"size": target.stat().st_size, "content": target.name}

    def hashed(self, name: str) -> Kept:
        """The hash of staged content, which then has it in its name."""
        path = self.content_path(name)
        digest, size = hash_of(path)
        target = path.with_name(self._hold(digest))
        if path != target:
            # A link changes with the file that it belongs to: a copy of the same content is worth more.
            if target.exists() and (path.stat().st_nlink > 1 or target.stat().st_nlink == 1):
                path.unlink()
            else:
                os.replace(path, target)
        return Kept(digest, size, target.name)

    def _hold(self, digest: str) -> str:
        """The name of content of this store, which is kept until a record that names it is written."""
        name = f"{digest}-{self._mark}"
        with self._records_lock:
            self._held.add(name)
        return name

    def content_path(self, name: str) -> Path:
        for place in self._places:
            path = place / _FOLDER / "content" / name
            if path.exists():
                return path
        return self._places[0] / _FOLDER / "content" / name

    # --- records

    def add(self, data: dict[str, Any], name: str) -> Record:
        """Write a record, in place of one of the same name."""
        folder = self._folder("todo", create=True)
        made = {
            "id": uuid.uuid4().hex,
            "host": hostname(),
            "process": ProcessIdentity.own().as_data(),
            "made_at": time.time(),
            **data,
        }
        record = Record(folder / f"{name}.json", made)
        with self._records_lock:
            self._write_record(record)
        return record

    def pending(self, name: str) -> Path | None:
        """The record of that name, if one waits."""
        path = self._folder("todo", create=True) / f"{name}.json"
        return path if path.exists() else None

    def rewrite(self, record: Record) -> bool:
        """Write a changed record. False if another one has its name now, or it was removed."""
        with self._records_lock:
            if _id_in(record.path) != record.data.get("id"):
                self._held.difference_update(str(one["content"]) for one in record.contents)
                return False
            self._write_record(record)
        return True

    def _write_record(self, record: Record) -> None:
        scratch = record.path.with_name(f".{uuid.uuid4().hex}")
        with open(open_file(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(json.dumps(record.data).encode())
        os.replace(scratch, record.path)
        self._held.difference_update(str(one["content"]) for one in record.contents)

    def waiting(self, batch_id: str | None = None, *, own: bool = False) -> list[Record]:
        """Records to be sent, oldest first: of this process (`own`), or of processes that have ended."""
        found = [record for record in self._records() if batch_id in (None, record.batch_id)]
        mine = ProcessIdentity.own().as_data()
        if not own:
            gone = {batch: self._released(batch).exists() for batch in {record.batch_id or "" for record in found}}
            kept = [record for record in found if gone[record.batch_id or ""] or not _is_alive(record, mine)]
        else:
            kept = [record for record in found if _is_of(record, mine)]
        return sorted(kept, key=lambda record: float(record.data.get("made_at") or 0))

    def counts(self, batch_id: str | None = None) -> tuple[int, int]:
        """How many files wait, and their bytes."""
        records = [record for record in self._records() if batch_id in (None, record.batch_id)]
        return sum(len(record.contents) for record in records), sum(record.size for record in records)

    @contextmanager
    def claimed(self, record: Record) -> Iterator[bool]:
        """False if another process sends this record, or has sent it."""
        try:
            descriptor = open_file(record.path, os.O_RDWR)
        except OSError:
            yield False
            return
        try:
            held = lock(descriptor, exclusive=True, timeout_s=0)
            yield (held or os.name != "posix") and _is_same(descriptor, record.path)
        finally:
            os.close(descriptor)

    def release(self, batch_id: str) -> None:
        """This process sends no more files of the batch: others may."""
        if self.counts(batch_id)[0]:
            with open(open_file(self._released(batch_id), os.O_WRONLY | os.O_CREAT), "wb"):
                return

    def settle(self, records: Sequence[Record]) -> list[Record]:
        """The service has confirmed records, or refused them for good: remove them, and content that no other needs.

        Returns those that no later record of the same name had replaced.
        """
        with self._records_lock:
            settled = [record for record in records if _id_in(record.path) == record.data.get("id")]
            for record in settled:
                record.path.unlink(missing_ok=True)
            names = {str(one["content"]) for record in records for one in record.contents}
            needed = {str(one["content"]) for other in self._records() for one in other.contents} if names else set()
            for name in names - needed - self._held:
                path = self.content_path(name)
                try:
                    size = path.stat().st_size
                    path.unlink()
                except OSError:
                    continue
                with self._lock:
                    if self._used is not None:
                        self._used -= size
        return settled

    def _released(self, batch_id: str) -> Path:
        return self._folder("todo", create=True) / f"{safe_name(batch_id)}.released"

    def _records(self) -> list[Record]:
        found: list[Record] = []
        for place in self._places:
            try:
                folder = own_folder(place / _FOLDER / "todo")
                names = os.listdir(folder)
            except OSError:
                continue
            for name in names:
                if not name.endswith(".json") or name.startswith("."):
                    continue
                try:
                    data = json.loads(read_file(folder / name, _RECORD_LIMIT))
                except (OSError, ValueError, RecursionError):
                    continue
                if isinstance(data, dict) and isinstance(data.get("kind"), str):
                    found.append(Record(folder / name, data))
        return found

    # --- folders

    def _folder(self, name: str, *, create: bool) -> Path:
        failure: OSError | None = None
        for place in [self._root] if self._root is not None else self._places:
            try:
                own_folder(place, create=create)
                own_folder(place / _FOLDER, create=create)
                found = own_folder(place / _FOLDER / name, create=create)
                self._root = place
                return found
            except OSError as error:
                failure = failure or error
        raise failure or FileNotFoundError("no folder for files")

    def _content(self, *, create: bool) -> Path:
        return self._folder("content", create=create)

    def _reserve(self, folder: Path, size: int) -> None:
        """Raises OSError if the disk, or the limit of this store, has no room for so many bytes."""
        with self._lock:
            if self._used is None:
                self._used = sum(entry.stat().st_size for entry in os.scandir(folder))
            if self._used + size > self.limit:
                raise NoRoom(28, f"more than {self.limit:,} bytes of files wait to be sent (SVC_FILES_SPILL_BYTES)")
            leave_room(folder, size)
            self._used += size

    def _write(self, target: Path, content: bytes) -> None:
        self._reserve(target.parent, len(content))
        scratch = target.with_name(f".{uuid.uuid4().hex}")
        with open(open_file(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
        os.replace(scratch, target)


def record_name(batch_id: str, path: str) -> str:
    """Of the record of a file: another one of the same batch and path replaces it."""
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{safe_name(batch_id)}~{digest}"


def _id_in(path: Path) -> Any:
    try:
        return json.loads(read_file(path, _RECORD_LIMIT)).get("id")
    except (OSError, ValueError, AttributeError):
        return None


def _is_of(record: Record, mine: dict[str, Any]) -> bool:
    return record.data.get("host") == hostname() and record.data.get("process") == mine


def _is_alive(record: Record, mine: dict[str, Any]) -> bool:
    """Whether the process that made the record may still send it."""
    if record.data.get("host") != hostname():
        return time.time() - float(record.data.get("made_at") or 0) < _FOREIGN_S
    process = record.data.get("process")
    identity = ProcessIdentity.from_data(process)
    return identity is not None and identity.is_alive() is True


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except OSError:
        return False
