"""Sends events in requests of many, beside the reading of a history, and files between them."""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from .._delivery.queue import EncodedEvent
from .._delivery.responses import Outcome
from .._delivery.sender import Sender, Stopped
from .._delivery.settings import Settings
from .._delivery.transport import Transport, Unreachable
from .._delivery.uploads import Halt, Uploads
from .._disk.file_store import FileStore, Record
from .._shared.ids import EventIds
from .._shared.messages import logger
from ._events import PacedTransport

_WAITING = 4
"""Requests that wait to be sent; then reading waits."""
_FILES = 200
"""Files that wait on disk before they are sent."""


class Halted(Exception):
    """The service cannot be reached, or does not take the token: the import ends, and may be repeated."""


class DerivedIds(EventIds):
    """Ids that depend on the event alone: its time first, then a hash of its batch and its content."""

    def __init__(self, batch_id: str) -> None:
        super().__init__()
        self._batch_id = batch_id
        self.content = ""

    def make(self, ms: int) -> str:
        text = f"{self._batch_id}\0{ms}\0{self.content}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=9).hexdigest()
        stamp = f"{ms & 0xFFFF_FFFF_FFFF:012x}"
        return f"{stamp[:8]}-{stamp[8:]}-8{digest[:3]}-a{digest[3:6]}-{digest[6:]}"


class Channel:
    """One connection for events, which a thread uses, and one for files and questions."""

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        if settings.target is None or not settings.token:
            raise ValueError("; ".join(settings.complaints) or "no service is configured")
        self._tuning = settings.tuning
        self._say = say
        self._ended = threading.Event()
        self._events = PacedTransport(settings.target, settings.token, settings.tuning.request_timeout_s)
        self._events.names_senders = False
        self._sender = Sender(self._events, settings.tuning, self._pause)
        self._asking = Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
        self._files = Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
        self.store = FileStore(settings.folder)
        self._uploads = Uploads(self.store, self._files, may_go_on=lambda: not self._ended.is_set(), say=self._tell)
        self._chunk: list[EncodedEvent] = []
        self._size = 0
        self._records: list[Record] = []
        self._queue: queue.Queue[list[EncodedEvent] | None] = queue.Queue(_WAITING)
        self._why = ""
        self.events = 0
        self.outcomes: dict[Outcome, int] = {}
        self.ignored: dict[str, str] = {}
        """Series that the service did not take, with its reason."""
        self.files_refused = 0
        self._thread = threading.Thread(target=self._send, name="svc-reporter-import", daemon=True)
        self._thread.start()

    # --- events

    def put(self, event: EncodedEvent) -> None:
        """Raises Halted."""
        if self._chunk and self._size + event.size > self._tuning.array_limit_bytes:
            self._pass_on()
        self._chunk.append(event)
        self._size += event.size + 1
        if len(self._chunk) >= self._tuning.array_limit:
            self._pass_on()

    def flush(self) -> None:
        """Wait until the service has answered for every event so far. Raises Halted."""
        self._pass_on()
        self._queue.join()
        self._check()

    def _pass_on(self) -> None:
        if self._chunk:
            self._queue.put(self._chunk)
            self._chunk, self._size = [], 0
        self._check()

    def _check(self) -> None:
        if self._why:
            raise Halted(self._why)

    def _send(self) -> None:
        while True:
            chunk = self._queue.get()
            try:
                if chunk is None:
                    return
                if not self._why:
                    self._send_chunk(chunk)
            except Exception as error:  # the reading thread must not wait for ever
                self._why = f"{type(error).__name__}: {error}"
            finally:
                self._queue.task_done()

    def _send_chunk(self, chunk: list[EncodedEvent]) -> None:
        sent = self._sender.send(chunk)
        for at, outcome in enumerate(sent.outcomes):
            if outcome is None:
                continue
            self.events += 1
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            if outcome in (Outcome.DROPPED, Outcome.REJECTED):
                self._say(f"refused: {chunk[at].event_type} {chunk[at].event_id}: {sent.reasons.get(at, '')}")
        for name, why in sent.ignored:
            if name not in self.ignored and len(self.ignored) < 1_000:
                self.ignored[name] = why
                self._say(f"the service did not take the series {name}: {why}")
        if sent.deleted is not None:
            self._say("the run is in the trash of the service: restore it there to see it")
        if sent.stopped is not None:
            what = "does not take the token" if sent.stopped is Stopped.UNAUTHORISED else "cannot be reached"
            self._why = f"the service {what}: {sent.why}"

    def _pause(self, seconds: float) -> bool:
        return not self._ended.wait(seconds)

    # --- files

    def keep(self, record: dict[str, Any], name: str) -> None:
        """Write the record of a file to disk; it is sent soon. Raises OSError and Halted."""
        self._records.append(self.store.add(record, name))
        if len(self._records) >= _FILES:
            self.send_files()

    def send_files(self) -> None:
        """Raises Halted."""
        if not self._records:
            return
        self.flush()  # the service must know the run
        waiting, self._records = self._records, []
        for _ in range(100):
            done = self._uploads.round(waiting)
            self.files_refused += done.refused
            waiting = [record for record in waiting if record.path.exists()]
            if done.halt is None or not waiting:
                return
            if done.halt is Halt.LATER and not (done.files or done.refused):
                logger.log(logging.WARNING, "%d files wait: %s", len(waiting), done.why)
            if done.halt is Halt.UNAUTHORISED or not self._pause(1.0):
                break
        raise Halted(f"files could not be sent, `svc-reporter sync` sends them later: {done.why}")

    def _tell(self, _topic: str, text: str) -> None:
        self._say(text)

    # --- questions

    def stored(self, batch_id: str) -> dict[str, Any] | None:
        """How much the service has of a run; None if it does not know it. Raises Halted."""
        for attempt in range(6):
            try:
                response = self._asking.get(f"/api/batches/{quote(batch_id, safe='')}/stored")
            except Unreachable as error:
                why = str(error)
            else:
                if response.status == 200:
                    found: dict[str, Any] = json.loads(response.body)
                    return found
                if response.status == 404:
                    return None
                why = f"HTTP {response.status}"
                if response.status in (401, 403):
                    break
            if not self._pause(0.2 * 2**attempt):
                break
        raise Halted(f"the service does not say what it has stored: {why}")

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._events.abort() if self._why else None
            try:
                self._queue.put(None, timeout=self._tuning.request_timeout_s)
            except queue.Full:
                self._events.abort()
            self._thread.join(self._tuning.request_timeout_s)
        for transport in (self._events, self._asking, self._files):
            transport.close()
