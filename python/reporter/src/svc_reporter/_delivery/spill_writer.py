"""Writes the spill file and the rejected file of one batch, and updates the delivery counts."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from .._disk.spill import REJECTED, SpillFolder, first_writable
from .._shared.messages import Messages
from .delivery import Counts
from .queue import STARTS_AND_ENDS, EncodedEvent
from .responses import concerns_project

_ONCE_IT_RESPONDS = " and sent once the service responds, or by `svc-reporter sync`"


class SpillWriter:
    """Its methods never raise. Re-entrant: a signal handler may call them while the worker does."""

    def __init__(self, folder: SpillFolder, batch_id: str, counts: Counts, messages: Messages) -> None:
        self.folder = folder
        self._batch_id = batch_id
        self._counts = counts
        self._messages = messages
        self._lock = threading.RLock()
        self._waiting = 0
        self.files: set[Path] = set()
        """Spill files of this batch, to be replayed once the service can be reached."""

    @property
    def place(self) -> Path:
        """The folder of the spill files."""
        return next(iter(self.files)).parent if self.files else first_writable(self.folder.candidates)

    @property
    def waiting(self) -> int:
        """How many events of this reporter are in spill files, as far as it knows."""
        return self._waiting

    def spill(
        self, events: Sequence[EncodedEvent], why: str = "", then: str = _ONCE_IT_RESPONDS
    ) -> Sequence[EncodedEvent]:
        """Append events to the spill file and count them as spilled.

        Returns the events that could not be written (disk full, no folder). `why` is the reason that the log gives,
        and `then` says what sends them; without `why` nothing is logged unless writing fails.
        """
        if not events:
            return events
        try:
            use_reserve = all(event.event_type in STARTS_AND_ENDS for event in events)
            written, path = self.folder.append(
                self._batch_id, [event.line for event in events], use_reserve=use_reserve
            )
        except OSError as error:
            self._messages.log(
                logging.ERROR,
                "no spill",
                f"cannot write events to disk ({error}); they stay in memory and are lost if the process dies. Free "
                "disk space, or set SVC_REPORTER_DIR to a writable folder",
            )
            return events
        with self._lock:
            self.files.add(path)
            self._waiting += written
        self._counts.add(spilled=written)
        if written == len(events):
            if why:
                self._messages.log(logging.WARNING, "spill", f"{why}; events are kept in {path}{then}")
        else:
            self._messages.log(
                logging.ERROR,
                "no spill",
                f"the disk of {path} is full; further events stay in memory and are lost if the process dies. Free "
                "disk space",
            )
        return events[written:]

    def count_lost(self, events: Sequence[EncodedEvent], why: str) -> None:
        """Count events as dropped: they could be neither sent nor written to disk."""
        if events:
            self._counts.add(dropped=len(events))
            self._messages.log(logging.ERROR, "lost", f"events lost: {len(events):,}; {why}")

    def reject(self, events: Sequence[EncodedEvent], why: str) -> None:
        """Write events to rejected/: the service rejected them for a reason that a user can fix.

        Without `why` nothing is logged: the user knows already.
        """
        if not events:
            return
        self._counts.add(rejected=len(events))
        self._reject(self._batch_id, [event.line for event in events], why)

    def reject_from_other_batch(self, event: EncodedEvent, why: str) -> None:
        """Write an event of another batch, found in a replay, to rejected/. It is not counted here."""
        try:
            batch_id = str(json.loads(event.line)["batch_id"])
        except (ValueError, KeyError, TypeError):
            batch_id = "unknown"
        self._reject(batch_id, [event.line], why)

    def _reject(self, batch_id: str, lines: list[bytes], why: str) -> None:
        try:
            _, path = self.folder.append(batch_id, lines, below=REJECTED)
        except OSError as error:
            self._messages.log(
                logging.ERROR, "no rejected", f"rejected events are lost, they could not be written to disk: {error}"
            )
            return
        if why:
            other = ", to another project with `--project NAME`" if concerns_project(why) else ""
            self._messages.log(
                logging.ERROR,
                "rejected",
                f"the service refuses events ({why}). They are kept in {path}. Once the cause is fixed, "
                f"`svc-reporter sync --rejected` sends them{other}",
            )

    def count_replayed(self, count: int, accepted: int) -> None:
        """A replay has delivered `count` of this reporter's own spilled events: they no longer count as spilled.

        `accepted` of them are new to the service; the caller counts the others.
        """
        with self._lock:
            count = min(count, self._waiting)
            self._waiting -= count
        self._counts.add(spilled=-count, accepted=accepted)

    def forget_waiting(self) -> None:
        """Another process has claimed the spill file and delivers its events."""
        with self._lock:
            self._waiting = 0
