"""Puts events on disk, counts them and says so: the spill and the rejected file of one batch."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from ._delivery import Counts
from ._envelope import Sealed
from ._log import Voice
from ._queue import STARTS_AND_ENDS
from ._spill import REJECTED, SpillFolder


class Keeper:
    """Never raises. Re-entrant: a signal handler may spill while the worker does."""

    def __init__(self, folder: SpillFolder, batch_id: str, counts: Counts, voice: Voice) -> None:
        self.folder = folder
        self._batch_id = batch_id
        self._counts = counts
        self._voice = voice
        self._lock = threading.RLock()
        self._own_waiting = 0
        self.files: set[Path] = set()
        """Where this batch has spilled to, for draining it on recovery."""

    @property
    def own_waiting(self) -> int:
        """Events of this reporter that wait on disk, as far as it knows."""
        return self._own_waiting

    def spill(self, events: Sequence[Sealed], why: str | None) -> Sequence[Sealed]:
        """Append to the spill file. Returns the events that could not be written (disk full, no folder).

        Without `why` nothing is logged about events that were written.
        """
        if not events:
            return events
        try:
            vital = any(event.event_type in STARTS_AND_ENDS for event in events)
            written, path = self.folder.append(self._batch_id, [event.line for event in events], vital=vital)
        except OSError as error:
            self._voice.say(
                logging.ERROR,
                "no spill",
                f"cannot keep events on disk ({error}); they wait in memory while it lasts",
            )
            return events
        with self._lock:
            self.files.add(path)
            self._own_waiting += written
        self._counts.add(spilled=written)
        if written == len(events) and why is None:
            pass
        elif written == len(events):
            self._voice.say(
                logging.WARNING,
                "spill",
                f"{why}; events are kept in {path} and sent when the service answers, or by `svc-reporter sync`",
            )
        else:
            self._voice.say(
                logging.ERROR,
                "no spill",
                f"no room left for {path}; further events wait in memory while it lasts",
            )
        return events[written:]

    def give_up(self, events: Sequence[Sealed], why: str) -> None:
        """Count events as lost: neither the service nor the disk took them."""
        if events:
            self._counts.add(dropped=len(events))
            self._voice.say(logging.ERROR, "lost", f"events lost: {len(events):,}; {why}")

    def set_aside(self, events: Sequence[Sealed], why: str) -> None:
        """Events refused for a reason that a user can fix: they leave the queue and are kept on disk."""
        if not events:
            return
        self._counts.add(rejected=len(events))
        self._reject(self._batch_id, [event.line for event in events], why)

    def set_aside_foreign(self, event: Sealed, why: str) -> None:
        """The same for another batch's event met in a replay; it is not in this reporter's counts."""
        try:
            batch_id = str(json.loads(event.line)["batch_id"])
        except (ValueError, KeyError, TypeError):
            batch_id = "unknown"
        self._reject(batch_id, [event.line], why)

    def _reject(self, batch_id: str, lines: list[bytes], why: str) -> None:
        try:
            _, path = self.folder.append(batch_id, lines, below=REJECTED)
        except OSError as error:
            self._voice.say(logging.ERROR, "no rejected", f"refused events could not be kept either ({error})")
            return
        self._voice.say(
            logging.ERROR,
            "rejected",
            f"the service refuses events ({why}). They are kept in {path}: once the cause is mended, "
            "send them with `svc-reporter sync --rejected`",
        )

    def settled_from_disk(self, count: int) -> None:
        """`count` of this reporter's own spilled events have met their fate in a replay."""
        with self._lock:
            count = min(count, self._own_waiting)
            self._own_waiting -= count
        self._counts.add(spilled=-count)

    def forget_own(self) -> None:
        """Another process has taken the file over; what it holds is that process's to deliver."""
        with self._lock:
            self._own_waiting = 0
