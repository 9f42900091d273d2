"""The replay thread: at the start of a reporter, sends events that earlier processes spilled (specification §2.4)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence

from .._disk.claims import claim
from .._shared.ids import EventIds
from .._shared.messages import Messages
from .._shared.tuning import Tuning
from .queue import EncodedEvent
from .replay import in_order, reject_others, replay
from .responses import Outcome
from .sender import Sender, Stopped
from .shutdown import Shutdown
from .spill_writer import SpillWriter
from .transport import Transport


class Replayer(threading.Thread):
    """Has a connection of its own, so that a large backlog does not delay live events."""

    def __init__(
        self,
        transport: Transport,
        spill_writer: SpillWriter,
        ids: EventIds,
        shutdown: Shutdown,
        recovered: threading.Event,
        messages: Messages,
        tuning: Tuning,
    ) -> None:
        super().__init__(name="svc-reporter-replay", daemon=True)
        self._spill_writer = spill_writer
        self._ids = ids
        self._shutdown = shutdown
        self._recovered = recovered
        self._messages = messages
        self._tuning = tuning
        self._transport = transport
        self._sender = Sender(transport, tuning, shutdown.pause)
        self.waiting = False
        """The service cannot be reached or refuses the token; the thread waits for `recovered`."""

    def run(self) -> None:
        try:
            while self._round() in (Stopped.UNREACHABLE, Stopped.UNAUTHORISED) and not self._shutdown.closing:
                self.waiting = True
                self._recovered.wait()
                self._recovered.clear()
                self.waiting = False
            self._send_files()
        except Exception as error:
            self._messages.log(
                logging.WARNING, "replay", f"the replay of spilled events failed, the next run retries it: {error!r}"
            )

    def _round(self) -> Stopped | None:
        for path in in_order(self._spill_writer.folder.sources, self._tuning):
            if self._shutdown.abandoned or (self._shutdown.closing and not self._shutdown.left_s()):
                return Stopped.INTERRUPTED
            if path in self._spill_writer.files:
                continue  # written by this reporter; its worker sends it
            held = claim(path)
            if held is None:
                continue  # another process claimed it first
            stopped = replay(held, self._sender, self._tuning, self._messages, self._on_outcomes).stopped
            if stopped in (Stopped.UNREACHABLE, Stopped.UNAUTHORISED, Stopped.INTERRUPTED):
                return stopped
        return None

    def _send_files(self) -> None:
        """Send files of processes that have ended."""
        if not any((place / "files").exists() for place in self._spill_writer.folder.candidates):
            return
        from .._disk.file_store import FileStore
        from .uploads import Uploads

        store = FileStore(os.environ.get("SVC_REPORTER_DIR") or None)
        Uploads(
            store,
            self._transport,
            may_go_on=lambda: not self._shutdown.closing,
            say=lambda topic, text: self._messages.log_once(logging.WARNING, topic, text),
        ).round(store.waiting())

    def _on_outcomes(self, settled: Sequence[tuple[EncodedEvent, Outcome, str]]) -> None:
        reject_others(self._spill_writer, settled)
        for event, outcome, reason in settled:
            if outcome is Outcome.DROPPED:
                self._messages.log(
                    logging.ERROR,
                    "replay refused",
                    f"the service rejected a spilled {event.event_type}, it is dropped: {reason}",
                )
