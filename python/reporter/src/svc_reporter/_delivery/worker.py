"""The worker thread: takes events from the queue and sends them, or writes them to disk.

    circuit breaker closed  20 and more waiting events go in arrays of up to 500; fewer go one by one (pace.py)
    circuit breaker open    waiting events go to the spill file. Now and then one request probes the service, with the
                            oldest spilled events; once it succeeds, the rest of the file follows, then live events
    token refused (401)     after three answers 401 in a row, each a probe apart: events go to rejected/, nothing is
                            sent any more. Before that it is like an outage

Starts and ends of batches and jobs have priority: after a 429 they are sent while data waits, and on closing they are
sent even if no time is left for the rest.

Events of the current request are in `_in_flight`. When close() reaches its deadline it takes them under `_lock`, spills
them and sets `abandoned`; the worker checks that flag after the request and then leaves the events alone.

If a request takes long, the overflow thread writes the events in flight to the spill file (`spill_in_flight`). From
then on they count as spilled. If the service stored them after all, it answers their replay with "duplicate".
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from .._shared.ids import EventIds
from .._shared.messages import Messages
from .breaker import Breaker
from .delivery import Counts
from .envelope import EventEncoder
from .own_spill import Drained, OwnSpill
from .pace import Pace
from .queue import STARTS, STARTS_AND_ENDS, EncodedEvent, EventQueue, QueuedEvent
from .responses import Outcome
from .sender import Refusing, Sender, Sent, Stopped
from .settings import Settings
from .shutdown import Shutdown
from .spill_writer import SpillWriter
from .transport import Transport

_CHECK_FOR_ENDS_S = 0.05
"""How often a wait checks the queue for starts and ends."""
_SURPLUS = (
    "the service does not store {count} metrics, because a job has too many series (SVC_MAX_SERIES_PER_JOB of the "
    "service, 1,000 by default): {names}. It keeps losses, and metrics that define_metric names"
)
_DELETED = (
    "the batch {} was deleted: its events are stored, and the page shows them once the batch is restored from Trash"
)
_SHORT_PAUSE_S = 1.0
"""A longer wait between two attempts is one that the service asked for (429)."""


class Watcher(Protocol):
    """What keeps events in case this process dies: the watchdog."""

    early: set[str]
    """Ids of the events of `keep_early` that are not safe yet."""

    def keep_early(self, event: EncodedEvent) -> None: ...
    def encoded(self, events: Iterable[EncodedEvent]) -> None: ...
    def safe(self, event_ids: Sequence[str]) -> None: ...


class Worker(threading.Thread):
    def __init__(
        self,
        queue: EventQueue,
        encoder: EventEncoder,
        transport: Transport | None,
        spill_writer: SpillWriter,
        counts: Counts,
        ids: EventIds,
        shutdown: Shutdown,
        messages: Messages,
        settings: Settings,
    ) -> None:
        super().__init__(name="svc-reporter-worker", daemon=True)
        self._queue = queue
        self._encoder = encoder
        self._transport = transport
        """None if no address or token is configured: all events are spilled, for a later process to send, and the
        reporter has said so."""
        self._spill_writer = spill_writer
        self._counts = counts
        self._shutdown = shutdown
        self._messages = messages
        tuning = self._tuning = settings.tuning
        self._own_spill = OwnSpill(spill_writer, ids, messages, tuning, self._count)
        self.pace = Pace(queue, shutdown, tuning)
        self._sender = Sender(transport, tuning, self._pause) if transport else None
        self.breaker = Breaker(tuning)
        self.token_refused = False
        self._refusals = 0
        """How many answers in a row were 401."""
        self.recovered = threading.Event()
        """Set when the service can be reached again; wakes the replayer."""
        self._no_more_sending = transport is None
        self._interrupted = False
        """close() has too little time for the waiting data, although the service can be reached."""
        self._final_probe_done = False
        self._unreachable = "the service cannot be reached"
        """For the log: what the last failed send met. Empty after a 401, which has a message of its own."""
        self._lock = threading.RLock()
        self._in_flight: Sequence[QueuedEvent | EncodedEvent] = ()
        """Events taken from the queue that are neither sent nor spilled yet. Guarded by `_lock`."""
        self._postponed: Sequence[QueuedEvent | EncodedEvent] = ()
        """Data that waits after a 429, while starts and ends are sent. Guarded by `_lock`."""
        self._postponed_until = 0.0
        """time.monotonic() at which the wait after the 429 is over."""
        self._drain_not_before = 0.0
        """time.monotonic() before which no spilled events are sent, after a 429."""
        self._ends_interrupt = False
        """Whether a start or an end in the queue cuts the wait after a 429 short."""
        self._busy = False
        self.watched: Watcher | None = None
        self.sending = 0
        """Number of the current send, including short waits before a retry; 0 if there is none."""
        self._sends = 0
        self._spilled_in_flight: set[str] = set()
        """Ids of the events of the current send that were written to the spill file."""

    # --- called from other threads

    def is_idle(self) -> bool:
        return not self._busy and not self._in_flight and not self._postponed and not len(self._queue)

    def is_draining(self) -> bool:
        """Whether own spilled events are being sent."""
        return self._may_send() and not self.breaker.is_open and self._own_spill.waiting > 0 and self.is_alive()

    def take_unsent(self) -> list[QueuedEvent | EncodedEvent]:
        """For close() at its deadline: remove and return all events in flight and in the queue."""
        with self._lock:
            self._shutdown.abandoned = True
            unsent, self._in_flight, self._postponed = [*self._in_flight, *self._postponed], (), ()
        unsent.extend(self._queue.take(len(self._queue)))
        return unsent

    def is_busy(self) -> bool:
        return self._busy

    def spill_in_flight(self, sending: int) -> None:
        """Write the events in flight to the spill file, if send number `sending` is still the current one."""
        with self._lock:
            if self._shutdown.abandoned or self.sending != sending:
                return
            in_flight = [event for event in self._in_flight if isinstance(event, EncodedEvent)]
            left = self._spill_writer.spill(in_flight)
            written = in_flight[: len(in_flight) - len(left)]
            self._spilled_in_flight.update(event.event_id for event in written)
            self._in_flight = left
            self.note_safe(written)

    # --- the thread

    def run(self) -> None:
        try:
            self._run()
        finally:
            self._own_spill.release()

    def _run(self) -> None:
        while not self._shutdown.abandoned:
            self._busy = True
            try:
                worked = self._work()
            except Exception as error:
                # No error may end this thread: its events are spilled, and it continues.
                self._messages.log(
                    logging.ERROR, "worker", f"an internal error of the reporter, sending continues: {error!r}"
                )
                self._spill([*self._in_flight, *self._postponed], "an internal error of the reporter")
                self._postponed = ()
                worked = True
            self._busy = False
            if not worked:
                if self._shutdown.ending and not len(self._queue) and not self._in_flight and not self._postponed:
                    return
                self._sleep()

    def _sleep(self) -> None:
        wait_s, wake_threshold = 60.0, 1
        unreachable = self.breaker.is_open or not self._may_send()
        if self.breaker.is_open and self._may_send() and (self._in_flight or self._own_spill.waiting):
            wait_s = self.breaker.until_probe_s()
        if self._postponed:
            wait_s = min(max(0.0, self._postponed_until - time.monotonic()), _CHECK_FOR_ENDS_S)
        elif (due_s := self.pace.until_round_s() if unreachable else self.pace.until_due_s()) > 0:
            wait_s = min(wait_s, due_s)
            full = unreachable or self.pace.until_array_s() > 0
            wake_threshold = self._tuning.array_limit if full else self._tuning.array_threshold
        elif not unreachable and self._own_spill.waiting:
            wait_s = max(0.0, self._drain_not_before - time.monotonic())
        self.pace.sleep(wait_s, wake_threshold, wake_if_pending=not self._in_flight)

    def _may_send(self) -> bool:
        return not self.token_refused and not self._no_more_sending

    def _work(self) -> bool:
        """Do the next thing that is due. False if there was nothing to do."""
        if not self._may_send():
            return self._spill_pending()
        if self.breaker.is_open:
            last_chance = self._shutdown.closing and not self._final_probe_done
            if self.breaker.until_probe_s() == 0 or last_chance:
                return self._probe(last_chance)
            return False if self._in_flight else self._spill_pending()
        if self._in_flight:
            return self._deliver(list(self._in_flight))
        if self._postponed:
            return self._send_postponed()
        limit = self.pace.next_request_size()
        if limit:
            return self._deliver(self._take(limit))
        if not self._own_spill.waiting or time.monotonic() < self._drain_not_before:
            return False
        return self._drain_own(once=False)

    def _send_postponed(self) -> bool:
        """After a 429: send starts and ends, or the postponed data once the wait is over. False if neither is due."""
        with self._lock:
            if self._shutdown.abandoned:
                return False
            if self._queue.has_ends:
                self._in_flight = self._queue.take_ends(self._tuning.array_limit)
            elif time.monotonic() >= self._postponed_until:
                self._in_flight, self._postponed = self._postponed, ()
            else:
                return False
        return self._deliver(list(self._in_flight))

    def _pause(self, seconds: float) -> bool:
        """The sender's wait between two attempts.

        False if the wait was cut short: close() is near its deadline, or a start or an end is in the queue.
        """
        if seconds > _SHORT_PAUSE_S:
            self.sending = 0  # a 429: the service can be reached, so the events need not be spilled
        end = time.monotonic() + seconds
        while self._ends_interrupt and not self._shutdown.closing and end - time.monotonic() > _CHECK_FOR_ENDS_S:
            if self._queue.has_ends:
                self._postponed_until = end
                return False
            time.sleep(_CHECK_FOR_ENDS_S)
        return self._shutdown.pause(max(0.0, end - time.monotonic()))

    def _take(self, limit: int) -> Sequence[QueuedEvent | EncodedEvent]:
        with self._lock:
            if not self._shutdown.abandoned:
                self._in_flight = self._queue.take(limit)
            return self._in_flight

    def _spill_pending(self) -> bool:
        """Write the waiting events to the spill file, or after a 401 to rejected/. False if nothing was written."""
        if self._send_ends_while_closing():
            return True
        if not self._in_flight and not self._postponed and len(self._queue) < self._tuning.array_limit:
            if self.pace.until_round_s() > 0:
                return False
            self.pace.next_round_in(self._tuning.away_round_s)
        with self._lock:
            if self._postponed and not self._shutdown.abandoned:
                self._in_flight, self._postponed = [*self._in_flight, *self._postponed], ()
        events = list(self._in_flight) or list(self._take(self._tuning.array_limit))
        if not events:
            return False
        return self._spill(events, "" if self._transport is None else self._unreachable)

    def _send_ends_while_closing(self) -> bool:
        """On closing without time for the data: send starts and ends all the same. False if there are none."""
        if not (self._interrupted and self._queue.has_ends and self._shutdown.left_s() and not self.token_refused):
            return False
        with self._lock:
            if self._in_flight or self._shutdown.abandoned:
                return False
            self._in_flight = self._queue.take_ends(self._tuning.array_limit)
        return self._deliver(list(self._in_flight))

    def _probe(self, last_chance: bool) -> bool:
        """Test whether the service responds, with one request of waiting events. False if none wait."""
        if last_chance:
            self._final_probe_done = True
            if self._transport is not None:
                self._transport.timeout_s = min(self._tuning.final_probe_s, max(0.05, self._shutdown.left_s()))
        if self._own_spill.waiting and not self._in_flight and self._drain_own(once=True):
            return True
        events = list(self._in_flight) or list(self._take(self._tuning.array_limit))
        if events:
            return self._deliver(events, once=True)
        return False

    def _deliver(self, events: Sequence[QueuedEvent | EncodedEvent], *, once: bool = False) -> bool:
        rest: Sequence[EncodedEvent] = self._encode(events)
        with self._lock:
            spilled = self._spilled_in_flight = set()
        while rest and self._sender is not None:
            part = _first_within(rest, self._tuning.array_limit_bytes)
            has_ends = any(event.event_type in STARTS_AND_ENDS for event in part)
            self._ends_interrupt = not self._postponed and not has_ends
            with self._send_under_way():
                sent = self._sender.send(part, once=once)
            postpones = sent.stopped is Stopped.INTERRUPTED and self._ends_interrupt and not self._shutdown.closing
            with self._lock:
                if self._shutdown.abandoned:
                    return True  # close() has taken these events and spills them
                rest = rest[len(part) :]
                in_memory = [event for event in rest if event.event_id not in spilled]
                self._in_flight = () if sent.stopped else in_memory
                if postpones:
                    outcomes = zip(part, sent.outcomes, strict=True)
                    waits = [event for event, outcome in outcomes if outcome is None and event.event_id not in spilled]
                    self._postponed = [*waits, *in_memory]
                # Starts and ends are sent at once, even if they were spilled meanwhile.
                rest = [event for event in rest if event.event_type in STARTS_AND_ENDS or event.event_id not in spilled]
            unknown = self._record_outcomes(part, sent, spilled, postpones=postpones)
            if postpones:
                return True
            if sent.stopped is not None:
                self._write_to_disk([*unknown, *in_memory], self._unreachable)
                return True
        return True

    @contextmanager
    def _send_under_way(self) -> Iterator[None]:
        self._sends += 1
        self.sending = self._sends
        try:
            yield
        finally:
            self.sending = 0

    def _encode(self, events: Sequence[QueuedEvent | EncodedEvent]) -> list[EncodedEvent]:
        encoded: list[EncodedEvent] = []
        invalid = 0
        for event in events:
            done = event if isinstance(event, EncodedEvent) else self._encoder.encode(event)
            if done is None:
                invalid += 1
            else:
                encoded.append(done)
        with self._lock:
            if self._shutdown.abandoned:
                return []
            self._in_flight = encoded
            self._counts.add(dropped=invalid)
        if self.watched is not None:
            self.watched.encoded(event for event in encoded if event.event_type in STARTS)
        return encoded

    def note_safe(self, events: Sequence[EncodedEvent]) -> None:
        """Tell the watchdog which of its events are stored or spilled: it need not send them if this process dies."""
        if self.watched is not None:
            early = self.watched.early
            safe = [event.event_id for event in events if event.event_type in STARTS or event.event_id in early]
            if safe:
                self.watched.safe(safe)

    def _record_outcomes(
        self, events: Sequence[EncodedEvent], sent: Sent, spilled: set[str], *, postpones: bool
    ) -> list[EncodedEvent]:
        """Count the outcomes and update the circuit breaker. Returns the events without an outcome.

        Events that were spilled during the send are skipped: they count as spilled until their replay.
        """
        unknown: list[EncodedEvent] = []
        rejected: list[EncodedEvent] = []
        why = ""
        outcomes = sent.outcomes
        self.note_safe([event for event, outcome in zip(events, outcomes, strict=True) if outcome is not None])
        if not spilled and outcomes.count(Outcome.ACCEPTED) == len(outcomes):
            self._counts.add(accepted=len(outcomes))
            outcomes = []
        for position, (event, outcome) in enumerate(zip(events, outcomes, strict=False)):
            reason = sent.reasons.get(position, "")
            if event.event_id in spilled:
                continue
            if outcome is None:
                unknown.append(event)
            elif outcome is Outcome.REJECTED:
                rejected.append(event)
                why = reason
            else:
                self._count(event, outcome, reason)
        self._spill_writer.reject(rejected, why)
        self._counts.ignored += len(sent.ignored)
        for reason in {reason for _, reason in sent.ignored}:
            text = _SURPLUS if reason == "too_many_series" else f"the service does not store ({reason}): {{names}}"
            names = [key for key, of in sent.ignored if of == reason]
            self._messages.log_names(logging.WARNING, f"ignored {reason}", names, text)
        if sent.deleted is not None:
            batch_id = json.loads(sent.deleted.line)["batch_id"]
            self._messages.log_once(logging.WARNING, f"deleted {batch_id}", _DELETED.format(batch_id))
        if sent.stopped is not None:
            self._unreachable = f"the service cannot be reached ({sent.why})"
        if sent.stopped is Stopped.UNREACHABLE:
            self._refusals = 0
            self.breaker.trip()
        elif sent.stopped is Stopped.UNAUTHORISED:
            self._on_unauthorised(sent.why)
        elif postpones:
            pass
        elif sent.stopped is Stopped.INTERRUPTED:
            self._no_more_sending = self._interrupted = True
        else:
            self._close_breaker()
        return unknown

    def _spill(self, events: Sequence[QueuedEvent | EncodedEvent], why: str) -> bool:
        """Write events to disk. False if some could not be written."""
        encoded = self._encode(events)
        with self._lock:
            if self._shutdown.abandoned:
                return True
            self._in_flight = ()
        return self._write_to_disk(encoded, why)

    def _write_to_disk(self, encoded: Sequence[EncodedEvent], why: str) -> bool:
        """Write events that are no longer in `_in_flight` to disk. False if some could not be written.

        Those go back to `_in_flight`, or count as lost if close() has ended meanwhile.
        """
        left: Sequence[EncodedEvent] = ()
        if self.token_refused:
            self._spill_writer.reject(encoded, "")
        else:
            left = self._spill_writer.spill(encoded, why)
        self.note_safe(encoded[: len(encoded) - len(left)])
        with self._lock:
            if not self._shutdown.abandoned:
                self._in_flight = left
            else:
                self._spill_writer.count_lost(left, "they could not be written to disk")
        if left and not self.breaker.is_open and self._may_send():
            self.breaker.trip()
        return not left

    def _count(self, event: EncodedEvent, outcome: Outcome, reason: str) -> None:
        if outcome is Outcome.ACCEPTED:
            self._counts.add(accepted=1)
        elif outcome is Outcome.DUPLICATE:
            self._counts.add(duplicate=1)
        else:
            self._counts.add(dropped=1)
            self._messages.log(
                logging.ERROR,
                f"refused {event.event_type}",
                f"the service rejected {event.event_type}, it is dropped: {reason}",
            )

    def _on_unauthorised(self, why: str) -> None:
        """One 401 may come from a server that is just starting or does not know a new token yet: ask again."""
        self._refusals += 1
        self._unreachable = ""
        self._messages.log(
            logging.ERROR,
            "401",
            f"the service does not accept SVC_TOKEN ({why}); events are kept in {self._spill_writer.place}. Set it to "
            "a token of the Tokens page, then `svc-reporter sync --rejected` sends them",
        )
        last = self._final_probe_done and self._refusals > 1
        if self._refusals < self._tuning.refusals and not last:
            self.breaker.trip()
            return
        self.token_refused = True
        while self._own_spill.waiting and not self._shutdown.abandoned:
            if self._own_spill.drain(Refusing(), lambda: None, once=True) is not Drained.SOME:
                return

    def _close_breaker(self) -> None:
        refusals, self._refusals = self._refusals, 0
        if self.breaker.is_open:
            self.breaker.reset()
            self.recovered.set()
            if refusals:  # the user was told that it does not
                self._messages.log(logging.WARNING, "accepted", "the service accepts SVC_TOKEN now")
            else:
                self._messages.log(logging.INFO, "recovered", "the service responds again")

    def _drain_own(self, *, once: bool) -> bool:
        """Send one request of this batch's spilled events. False if there are none."""
        if self._sender is None:
            return False
        self._ends_interrupt = True
        with self._send_under_way():
            result = self._own_spill.drain(self._sender, self._close_breaker, once=once)
        if result is Stopped.UNREACHABLE:
            self._refusals = 0
            self.breaker.trip()
        elif result is Stopped.UNAUTHORISED:
            self._on_unauthorised("HTTP 401")
        elif result is Stopped.INTERRUPTED:
            if self._shutdown.closing:
                self._no_more_sending = self._interrupted = True
            self._drain_not_before = self._postponed_until
        return result is not Drained.EMPTY


def _first_within(events: Sequence[EncodedEvent], limit_bytes: int) -> Sequence[EncodedEvent]:
    """As many of the first `events` as fit into a body of `limit_bytes`; at least one."""
    size = 0
    for count, event in enumerate(events):
        size += event.size + 1
        if size > limit_bytes and count:
            return events[:count]
    return events
