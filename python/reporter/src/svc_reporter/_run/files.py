"""The files of one run: media that `log` took, files of `save`, and artifacts.

A thread encodes copies of media, writes their content to disk by its hash, and then reports them with the time of the
call. Another thread sends files, while no metric waits. What it has not sent at the end stays on disk; the watchdog,
the next reporter or `svc-reporter sync` sends it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .._capture.described import FOLDER
from .._capture.media import MAX_LIST, Media, Taken
from .._delivery.transport import Transport
from .._delivery.uploads import Halt, Uploaded, Uploads
from .._disk.file_store import FileStore, Kept, Record, record_name
from .._shared.ids import now_ms
from .._shared.plain import text_of
from .._shared.signals import raise_if_by_signal
from .batch import Batch

_QUEUE_BYTES = 512 * 1024 * 1024
"""Of copied media that wait for their encoding; beyond it a call waits, then loses its value."""
_ROOM_S = 2.0
_RETRY_FIRST_S, _RETRY_LAST_S = 0.5, 30.0
_QUIET_S = 5.0
"""How long files wait at most for metrics that are sent first."""
_PATH_PART = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\\]+")


class RunFiles:
    """Of one `Reporter`. Its methods never raise."""

    def __init__(self, reporter: Batch) -> None:
        self._reporter = reporter
        self.store = FileStore(reporter._settings.folder)
        self._lock = threading.RLock()
        self._media: deque[tuple[str, int, int, dict[str, Any], int]] = deque()
        self._media_bytes = 0
        self._working = 0
        """Media that are queued or being encoded."""
        self._wake_encoder = threading.Event()
        self._wake_sender = threading.Event()
        self._threads: list[threading.Thread] = []
        self._ends_at = float("inf")
        """time.monotonic() after which nothing is sent any more."""
        self._closing = False
        self.counts = {"files": 0, "bytes": 0, "sent": 0, "sent_bytes": 0, "dropped": 0}
        self.when_unsupported: Callable[[], None] | None = None
        """Called once if the service is too old for files."""
        self._transport: Transport | None = None
        self.versions: dict[str, dict[str, Any]] = {}
        """By name of a record: what the service said of an artifact."""

    # --- what the run adds

    def add_media(self, job_id: str, step: int, media: Mapping[str, Any]) -> None:
        """Take copies of these values; they are encoded and reported later."""
        if not self._reporter.can_report():
            return
        taken: dict[str, Any] = {}
        size = 0
        for name, value in media.items():
            values = self._without_objects(name, step, value if isinstance(value, list) else [value])
            if len(values) > MAX_LIST:
                self._say(f"many {name}", f"{name} has {len(values)} values at one step, {MAX_LIST} are kept")
            copies = [copy for copy in (self._copy(name, one) for one in values[:MAX_LIST]) if copy is not None]
            if copies:
                taken[name] = copies if isinstance(value, list) else copies[0]
            size += sum(_weight(one) for one in values[:MAX_LIST])
        if not taken:
            return
        if not self._has_room(size):
            self._reporter.count_lost()
            self._lose(len(taken), "media", "media come faster than they are encoded: values are left out")
            return
        with self._lock:
            self._media.append((job_id, step, now_ms(), taken, size))
            self._media_bytes += size
            self._working += 1
        self._start("encoder", self._encode)
        self._wake_encoder.set()

    def add_file(
        self,
        source: Path,
        path: str,
        *,
        link: bool = True,
        job_id: str | None = None,
        media_type: str | None = None,
    ) -> bool:
        """A file of the run, under a path of its own. A later one of the same path replaces it."""
        if not self._reporter.can_report():
            return False
        try:
            staged = self.store.stage(source, link=link)
            self._record_file(path, staged, media_type, job_id)
            return True
        except (OSError, ValueError) as error:
            self._lose(1, f"file {source}", f"the file {source} is not kept: {error}")
            return False

    def add_bytes(self, content: bytes, path: str, media_type: str | None = None, *, own: bool = False) -> bool:
        """A file of the run, of these bytes. `own` ones are in the folder of `_described`."""
        if not self._reporter.can_report():
            return False
        try:
            kept = self.store.put(content)
            self._record_file(path, content_of(kept), media_type, None, own=own)
            return True
        except OSError as error:
            self._lose(1, f"file {path}", f"the file {path} is not kept: {error}")
            return False

    def add_artifact(self, data: dict[str, Any], files: Iterable[tuple[str, Path, bool]]) -> str | None:
        """An artifact with its files, as (path, source, whether it may be a link). Returns its record's name."""
        if not self._reporter.can_report():
            return None
        try:
            listed = []
            for path, source, link in files:
                listed.append({"path": path, **self.store.stage(source, link=link)})
            name = record_name(self._reporter.batch_id, f"artifact {time.time_ns()} {data['name']}")
            self._add({"kind": "artifact", **data, "files": listed}, name)
            return name
        except OSError as error:
            self._lose(1, f"artifact {data['name']}", f"the artifact {data['name']} is not kept: {error}")
            return None

    def add_use(self, project: str, name: str, version: str) -> None:
        """The run uses an artifact."""
        if not self._reporter.can_report():
            return
        try:
            data = {"kind": "use", "project": project, "name": name, "version": version}
            self._add(data, record_name(self._reporter.batch_id, f"use {project}/{name}:{version}"))
        except OSError as error:
            self._say("use", f"the use of {name} is not recorded: {error}")

    # --- the end

    def encode_rest(self, until: float) -> None:
        """Wait until time.monotonic() reaches `until` for media that are not encoded yet."""
        step = 0.001
        while self._working and time.monotonic() < until:
            time.sleep(step)
            step = min(0.02, step * 1.5)
        with self._lock:
            left = list(self._media)
            self._media.clear()
        for _ in left:
            self._reporter.count_lost()
        if left:
            self._lose(len(left), "unencoded", f"{len(left)} media were not encoded in time, they are left out")

    def close(self, until: float) -> None:
        """Send files until time.monotonic() reaches `until`; the rest stays on disk for others."""
        self._ends_at = until
        self._closing = True
        for event in (self._wake_sender, self._wake_encoder):
            event.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.05, until - time.monotonic()) + 0.2)
        if self._transport is not None:
            self._transport.abort()
        try:
            if self.counts["files"] > self.counts["sent"] + self.counts["dropped"]:
                self.store.release(self._reporter.batch_id)
        except OSError as error:
            self._say("release", f"files of this run wait until its process has ended: {error}")

    def wait(self, until: float) -> bool:
        """Wait until time.monotonic() reaches `until`. True if everything was sent."""
        self._wake_sender.set()
        while time.monotonic() < until and (self._working or self.unsent):
            time.sleep(0.02)
        return not self._working and not self.unsent

    def hurry(self, seconds: float) -> None:
        self._ends_at = min(self._ends_at, time.monotonic() + seconds)

    @property
    def unsent(self) -> int:
        """Files that are on disk, or whose content is."""
        return max(0, self.counts["files"] - self.counts["sent"] - self.counts["dropped"])

    # --- the threads

    def _encode(self) -> None:
        _lower_priority()
        while True:
            try:
                job_id, step, ms, taken, size = self._media.popleft()
            except IndexError:
                if self._closing:
                    return
                self._wake_encoder.wait(1.0)
                self._wake_encoder.clear()
                continue
            try:
                data = self._encoded(job_id, step, taken)
                if data:
                    self._reporter.emit("job_epoch", job_id, {"epoch": step, **data}, ms)
            except Exception as error:
                self._reporter.count_lost()
                self._lose(1, "encode", f"media were not recorded by an internal error: {error!r}")
            finally:
                with self._lock:
                    self._media_bytes -= size
                    self._working -= 1

    def _encoded(self, job_id: str, step: int, taken: dict[str, Any]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for name, encoders in taken.items():
            values = []
            for at, encode in enumerate(encoders if isinstance(encoders, list) else [encoders]):
                value = self._encoded_one(name, encode, f"media/{safe_path(name)}/{step}-{at}", job_id)
                if value is not None:
                    values.append(value)
            if values:
                data[name] = values if isinstance(encoders, list) else values[0]
        return data

    def _encoded_one(self, name: str, encode: Taken, stem: str, job_id: str) -> dict[str, Any] | None:
        def keep(content: bytes | Path, media_type: str, suffix: str) -> Kept:
            kept = self.store.put(content)
            self._record_file(f"{stem}-{kept.sha256[:16]}{suffix}", content_of(kept), media_type, job_id)
            return kept

        try:
            return encode(keep)
        except Exception as error:
            self._lose(1, f"media {name}", f"a value of {name} is left out: {type(error).__name__}: {error}")
            return None

    def _send(self) -> None:
        settings = self._reporter._settings
        if settings.target is None or not settings.token:
            return
        transport = self._transport = Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
        try:
            self._send_by(Uploads(self.store, transport, may_go_on=self._may_send, say=self._say))
        finally:
            transport.close()

    def _send_by(self, uploads: Uploads) -> None:
        wait_s = _RETRY_FIRST_S
        while time.monotonic() < self._ends_at:
            done = Uploaded()
            if self._await_quiet():
                done = uploads.round(self.store.waiting(self._reporter.batch_id, own=True))
                self._note(done)
            if done.halt is Halt.UNAUTHORISED or (done.halt is not None and self._closing and self._is_away()):
                return
            if done.halt is None and not self.unsent and (self._closing or not self._wake_sender.is_set()):
                if self._closing:
                    return
                wait_s = _RETRY_FIRST_S
                self._wake_sender.wait()
            elif done.halt is not None or done.files == 0:
                self._wake_sender.clear()
                if self._closing:
                    wait_s = min(wait_s, 0.2)
                self._wake_sender.wait(min(wait_s, max(0.0, self._ends_at - time.monotonic())))
                wait_s = min(_RETRY_LAST_S, wait_s * 2) if done.halt is not None else _RETRY_FIRST_S
            self._wake_sender.clear()

    def _is_away(self) -> bool:
        """Whether the service does not have the events of the run either: others send the files later."""
        pipeline = self._reporter._pipeline
        return pipeline is not None and (pipeline.is_refused or not pipeline.may_poll)

    def _await_quiet(self) -> bool:
        """Wait for metrics that are sent first. False if the service cannot be reached."""
        pipeline = self._reporter._pipeline
        until = time.monotonic() + _QUIET_S
        while pipeline is not None and not self._closing and time.monotonic() < min(until, self._ends_at):
            if not pipeline.may_poll:
                return False
            if pipeline.is_quiet:
                break
            time.sleep(0.02)
        return time.monotonic() < self._ends_at

    def _may_send(self) -> bool:
        return self._reporter.is_of_this_process() and self._await_quiet()

    def _note(self, done: Uploaded) -> None:
        with self._lock:
            self.counts["sent"] += done.files
            self.counts["sent_bytes"] += done.bytes
            self.counts["dropped"] += done.refused
        self.versions.update(done.versions)
        if done.is_too_old and self.when_unsupported is not None:
            tell, self.when_unsupported = self.when_unsupported, None
            tell()

    # --- helpers

    def _without_objects(self, name: str, step: int, values: list[Media]) -> list[Media]:
        """The values but for 3D objects and molecules, which become files of the run at once."""
        objects: Any = sys.modules.get("svc_reporter._capture.objects")
        if objects is None:
            return values
        others = [one for one in values if not isinstance(one, objects.StoredObject)]
        for at, one in enumerate(one for one in values[:MAX_LIST] if isinstance(one, objects.StoredObject)):
            content, suffix = one.stored
            path = f"{objects.FOLDER}/{name}/{step}{f'-{at}' if at else ''}{suffix}"
            if isinstance(content, bytes):
                self.add_bytes(content, path)
            else:
                self.add_file(content, path, link=False)
        return others

    def _copy(self, name: str, value: Media) -> Taken | None:
        try:
            return value.taken()
        except Exception as error:
            raise_if_by_signal(error)
            missing = isinstance(error, ImportError)
            what = f"{getattr(error, 'name', None) or error} is not installed" if missing else f"{error}"
            self._lose(1, f"media {name}", f"a value of {name} is left out: {type(error).__name__}: {what}")
            return None

    def _has_room(self, size: int) -> bool:
        end = time.monotonic() + _ROOM_S
        while self._media_bytes and self._media_bytes + size > _QUEUE_BYTES:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def _record_file(
        self, path: str, content: dict[str, Any], media_type: str | None, job_id: str | None, *, own: bool = False
    ) -> None:
        clean = safe_path(path)
        if not own and clean.partition("/")[0] == FOLDER:
            clean = f"_{clean}"
        data = {"kind": "file", "file_path": clean, "media_type": media_type, "job_id": job_id, "own": own}
        self._add({**data, "files": [{"path": clean, **content}]}, record_name(self._reporter.batch_id, clean))

    def _add(self, data: dict[str, Any], name: str) -> Record:
        with self._lock:
            replaced = self.store.pending(name)
            record = self.store.add({"batch_id": self._reporter.batch_id, **data}, name)
            if replaced is None:
                self.counts["files"] += len(record.contents)
                self.counts["bytes"] += record.size
        self._start("files", self._send)
        self._wake_sender.set()
        return record

    def _start(self, name: str, action: Callable[[], None]) -> None:
        full = f"svc-reporter-{name}"
        with self._lock:
            if self._closing or any(thread.name == full for thread in self._threads):
                return
            try:
                thread = threading.Thread(target=action, name=full, daemon=True)
                thread.start()
                self._threads.append(thread)
            except RuntimeError as error:  # out of threads, or at interpreter exit
                self._say("threads", f"cannot start a thread of the reporter; files stay on disk: {error}")

    def _lose(self, count: int, topic: str, text: str) -> None:
        with self._lock:
            self.counts["dropped"] += count
            self.counts["files"] += count
        self._say(topic, text)

    def _say(self, topic: str, text: str) -> None:
        self._reporter.messages.log_once(logging.WARNING, f"files {topic}", text)


def content_of(kept: Kept) -> dict[str, Any]:
    return {"sha256": kept.sha256, "size": kept.size, "content": kept.name}


def safe_path(path: str) -> str:
    """A path that the service accepts: parts that are not empty, `.` or `..`."""
    parts = (_PATH_PART.sub("_", part).strip() for part in text_of(path).replace("\\", "/").split("/"))
    kept = [part[:200] if part not in (".", "..") else "_" for part in parts if part]
    return "/".join(kept)[-1000:].lstrip("/") or "file"


def _weight(value: Any) -> int:
    """About how many bytes a copied value has."""
    data = getattr(value, "data", None)
    for holder in (data, getattr(value, "_sequence", None)):
        size = getattr(holder, "nbytes", None)
        if isinstance(size, int):
            return size
    if isinstance(data, (bytes, str)):
        return len(data)
    if isinstance(data, list):
        return 200 * len(data)
    width, height = getattr(data, "width", 0), getattr(data, "height", 0)
    return 4 * width * height if isinstance(width, int) and isinstance(height, int) and width else 10_000


def _lower_priority() -> None:
    """On Linux a thread has a priority of its own: encoding must not take time from the training."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        except OSError:
            return
