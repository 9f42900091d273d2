"""The daemon worker: takes events from the queue and sees each one to its fate.

    closed breaker   20 and more pending: arrays of up to 500; below: one by one, in rounds (_pace.py)
    open breaker     everything pending goes to the spill file; now and then a probe, which is the oldest
                     spilled chunk itself; when it is accepted the rest of the file follows, then live events
    latched (401)    everything goes to rejected/, nothing is sent any more

Starts and ends of batches and jobs wait behind no data: while an array waits for its turn after a 429 they are sent
before it, and at the end also when there is no time left for the rest.

The events in the worker's hands are visible to close(): at its deadline it takes them over under `_hands`
and spills them, and the worker, coming back from its request, finds `abandoned` and lets go.

While a request takes long, another thread writes them to disk (`insure`), and they are the spill file's from then on:
what the service took nevertheless is a duplicate when that is sent.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ._answers import Fate
from ._breaker import Breaker
from ._delivery import Counts
from ._envelope import Sealed, Sealer
from ._ids import EventIds
from ._keep import Keeper
from ._log import Voice
from ._own_spill import Drained, OwnSpill
from ._pace import Pace
from ._queue import STARTS, STARTS_AND_ENDS, EventQueue, Pending
from ._sender import Sender, Sent, Stopped
from ._shutdown import Shutdown
from ._transport import Transport
from ._tuning import Tuning
from ._watchdog import Watched

_LOOK_FOR_ENDS_S = 0.05
_SHORT_PAUSE_S = 1.0
"""Between two attempts at a service that does not answer."""


class Worker(threading.Thread):
    def __init__(
        self,
        queue: EventQueue,
        sealer: Sealer,
        transport: Transport | None,
        keeper: Keeper,
        counts: Counts,
        ids: EventIds,
        shutdown: Shutdown,
        voice: Voice,
        tuning: Tuning,
    ) -> None:
        super().__init__(name="svc-reporter-worker", daemon=True)
        self._queue = queue
        self._sealer = sealer
        self._transport = transport
        """None: no address or token is configured, and everything is spilled for a later process."""
        self._keeper = keeper
        self._counts = counts
        self._shutdown = shutdown
        self._voice = voice
        self._tuning = tuning
        self._own_spill = OwnSpill(keeper, ids, voice, tuning, self._count)
        self.pace = Pace(queue, shutdown, tuning)
        self._sender = Sender(transport, tuning, self._pause) if transport else None
        self.breaker = Breaker(tuning)
        self.latched = False
        self.recovered = threading.Event()
        """Set when the service answers again after it was away; wakes the replay of other files."""
        self._no_more_sending = transport is None
        self._interrupted = False
        """close() has no time for what waits; the service is there, though."""
        self._final_probe_done = False
        self._hands = threading.RLock()
        self._held: Sequence[Pending | Sealed] = ()
        self._parked: Sequence[Pending | Sealed] = ()
        """What waits for its turn after a 429 while starts and ends pass by."""
        self._parked_until = 0.0
        self._drain_after = 0.0
        """The same for what is on disk."""
        self._pass_by = False
        """A start or an end may interrupt the wait."""
        self._busy = False
        self.watched: Watched | None = None
        self.sending = 0
        """The number of the send that is under way, or that waits a moment before its next attempt; 0 between sends."""
        self._sends = 0
        self._insured: set[str] = set()
        """Ids of events of the present send that are on disk meanwhile."""

    # --- called from other threads

    def is_idle(self) -> bool:
        return not self._busy and not self._held and not self._parked and not len(self._queue)

    def is_draining(self) -> bool:
        """Spilled events are on their way although nothing is pending."""
        return self._may_send() and not self.breaker.is_open and self._own_spill.waiting > 0 and self.is_alive()

    def take_over(self) -> list[Pending | Sealed]:
        """For close() past its deadline: what is in the worker's hands and in the queue, all of it."""
        with self._hands:
            self._shutdown.abandoned = True
            held, self._held, self._parked = [*self._held, *self._parked], (), ()
        held.extend(self._queue.take(len(self._queue)))
        return held

    def busy(self) -> bool:
        return self._busy

    def insure(self, sending: int) -> None:
        """Write what is in the worker's hands to disk, if it is still in that send."""
        with self._hands:
            if self._shutdown.abandoned or self.sending != sending:
                return
            held = [event for event in self._held if isinstance(event, Sealed)]
            left = self._keeper.spill(held, None)
            written = held[: len(held) - len(left)]
            self._insured.update(event.event_id for event in written)
            self._held = left
            self._say_safe(written)

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
                # Nothing may end this thread: what it held goes to disk, and it goes on.
                self._voice.say(logging.ERROR, "worker", f"the reporter's worker stumbled: {error!r}")
                self._keep([*self._held, *self._parked], "the worker stumbled")
                self._parked = ()
                worked = True
            self._busy = False
            if not worked:
                if self._shutdown.ending and not len(self._queue) and not self._held and not self._parked:
                    return
                self._sleep()

    def _sleep(self) -> None:
        wait_s, enough = 60.0, 1
        away = self.breaker.is_open or not self._may_send()
        if self.breaker.is_open and self._may_send() and (self._held or self._own_spill.waiting):
            wait_s = self.breaker.until_probe_s()
        if self._parked:
            wait_s = min(max(0.0, self._parked_until - time.monotonic()), _LOOK_FOR_ENDS_S)
        elif (due_s := self.pace.until_round_s() if away else self.pace.until_due_s()) > 0:
            wait_s = min(wait_s, due_s)
            full = away or self.pace.until_array_s() > 0
            enough = self._tuning.array_limit if full else self._tuning.array_threshold
        elif not away and self._own_spill.waiting:
            wait_s = max(0.0, self._drain_after - time.monotonic())
        self.pace.sleep(wait_s, enough, heed_pending=not self._held)

    def _may_send(self) -> bool:
        return not self.latched and not self._no_more_sending

    def _work(self) -> bool:
        """One step; False when there was nothing to do."""
        if not self._may_send():
            return self._put_away()
        if self.breaker.is_open:
            last_chance = self._shutdown.closing and not self._final_probe_done
            if self.breaker.until_probe_s() == 0 or last_chance:
                return self._probe(last_chance)
            return False if self._held else self._put_away()
        if self._held:
            return self._deliver(list(self._held))
        if self._parked:
            return self._pass_parked()
        limit = self.pace.share()
        if limit:
            return self._deliver(self._take(limit))
        if not self._own_spill.waiting or time.monotonic() < self._drain_after:
            return False
        return self._drain_own(once=False)

    def _pass_parked(self) -> bool:
        """Starts and ends first; then what is parked, once its time has come."""
        with self._hands:
            if self._shutdown.abandoned:
                return False
            if self._queue.has_ends:
                self._held = self._queue.take_ends(self._tuning.array_limit)
            elif time.monotonic() >= self._parked_until:
                self._held, self._parked = self._parked, ()
            else:
                return False
        return self._deliver(list(self._held))

    def _pause(self, seconds: float) -> bool:
        """The sender's wait between two attempts; False when it was cut short for the end, or for a start or end."""
        if seconds > _SHORT_PAUSE_S:
            self.sending = 0  # told to wait, by a service that is there
        end = time.monotonic() + seconds
        while self._pass_by and not self._shutdown.closing and end - time.monotonic() > _LOOK_FOR_ENDS_S:
            if self._queue.has_ends:
                self._parked_until = end
                return False
            time.sleep(_LOOK_FOR_ENDS_S)
        return self._shutdown.pause(max(0.0, end - time.monotonic()))

    def _take(self, limit: int) -> Sequence[Pending | Sealed]:
        with self._hands:
            if not self._shutdown.abandoned:
                self._held = self._queue.take(limit)
            return self._held

    def _put_away(self) -> bool:
        """Empty the queue to disk: to the spill file, or after a 401 to rejected/."""
        if self._last_chance_for_ends():
            return True
        if not self._held and not self._parked and len(self._queue) < self._tuning.array_limit:
            if self.pace.until_round_s() > 0:
                return False
            self.pace.next_round_in(self._tuning.away_round_s)
        with self._hands:
            if self._parked and not self._shutdown.abandoned:
                self._held, self._parked = [*self._held, *self._parked], ()
        events = list(self._held) or list(self._take(self._tuning.array_limit))
        if not events:
            return False
        return self._keep(events, "no service is configured" if self._transport is None else "the service is away")

    def _last_chance_for_ends(self) -> bool:
        """While closing there may be no time left to send data; the ends are sent all the same."""
        if not (self._interrupted and self._queue.has_ends and self._shutdown.left_s() and not self.latched):
            return False
        with self._hands:
            if self._held or self._shutdown.abandoned:
                return False
            self._held = self._queue.take_ends(self._tuning.array_limit)
        return self._deliver(list(self._held))

    def _probe(self, last_chance: bool) -> bool:
        """Ask whether the service is back, with an event that waits anyway."""
        if last_chance:
            self._final_probe_done = True
            if self._transport is not None:
                self._transport.timeout_s = min(self._tuning.final_probe_s, max(0.05, self._shutdown.left_s()))
        if self._own_spill.waiting and not self._held and self._drain_own(once=True):
            return True
        events = list(self._held) or list(self._take(self._tuning.array_limit))
        if events:
            return self._deliver(events, once=True)
        return False

    def _deliver(self, events: Sequence[Pending | Sealed], *, once: bool = False) -> bool:
        rest: Sequence[Sealed] = self._seal(events)
        with self._hands:
            insured = self._insured = set()
        while rest and self._sender is not None:
            part = _fitting(rest, self._tuning.array_limit_bytes)
            self._pass_by = not self._parked and not any(event.event_type in STARTS_AND_ENDS for event in part)
            with self._send_under_way():
                sent = self._sender.send(part, once=once)
            parks = sent.stopped is Stopped.INTERRUPTED and self._pass_by and not self._shutdown.closing
            with self._hands:
                if self._shutdown.abandoned:
                    return True  # close() has taken them over, this part too
                rest = rest[len(part) :]
                in_memory = [event for event in rest if event.event_id not in insured]
                self._held = () if sent.stopped else in_memory
                if parks:
                    fates = zip(part, sent.fates, strict=True)
                    waits = [event for event, fate in fates if fate is None and event.event_id not in insured]
                    self._parked = [*waits, *in_memory]
                # Starts and ends are sent at once, on disk or not.
                rest = [event for event in rest if event.event_type in STARTS_AND_ENDS or event.event_id not in insured]
            unknown = self._settle(part, sent, insured, parks=parks)
            if parks:
                return True
            if sent.stopped is not None:
                self._store([*unknown, *in_memory], f"the service is away ({sent.why})")
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

    def _seal(self, events: Sequence[Pending | Sealed]) -> list[Sealed]:
        sealed: list[Sealed] = []
        invalid = 0
        for event in events:
            done = event if isinstance(event, Sealed) else self._sealer.seal(event)
            if done is None:
                invalid += 1
            else:
                sealed.append(done)
        with self._hands:
            if self._shutdown.abandoned:
                return []
            self._held = sealed
            self._counts.add(dropped=invalid)
        if self.watched is not None:
            self.watched.sealed(event for event in sealed if event.event_type in STARTS)
        return sealed

    def _say_safe(self, events: Sequence[Sealed]) -> None:
        if self.watched is not None:
            starts = [event.event_id for event in events if event.event_type in STARTS]
            if starts:
                self.watched.safe(starts)

    def _settle(self, events: Sequence[Sealed], sent: Sent, insured: set[str], *, parks: bool) -> list[Sealed]:
        """Count every known fate; returns the events without one. Those that are on disk meanwhile count there."""
        unknown: list[Sealed] = []
        refused: list[Sealed] = []
        why = ""
        fates = sent.fates
        self._say_safe([event for event, fate in zip(events, fates, strict=True) if fate is not None])
        if not insured and fates.count(Fate.ACCEPTED) == len(fates):
            self._counts.add(accepted=len(fates))
            fates = []
        for position, (event, fate) in enumerate(zip(events, fates, strict=False)):
            reason = sent.reasons.get(position, "")
            if event.event_id in insured:
                continue
            if fate is None:
                unknown.append(event)
            elif fate is Fate.SET_ASIDE:
                refused.append(event)
                why = reason
            else:
                self._count(event, fate, reason)
        self._keeper.set_aside(refused, why)
        for key, reason in sent.ignored:
            self._counts.ignored += 1
            self._voice.once(
                logging.WARNING, f"ignored {key}", f"the service left out the metric {key[:60]!r}: {reason}"
            )
        if sent.stopped is Stopped.UNREACHABLE:
            self.breaker.trip()
        elif sent.stopped is Stopped.UNAUTHORISED:
            self._latch(sent.why)
        elif parks:
            pass
        elif sent.stopped is Stopped.INTERRUPTED:
            self._no_more_sending = self._interrupted = True
        else:
            self._back()
        return unknown

    def _keep(self, events: Sequence[Pending | Sealed], why: str) -> bool:
        """To disk. False when the disk took not all of it."""
        sealed = self._seal(events)
        with self._hands:
            if self._shutdown.abandoned:
                return True
            self._held = ()
        return self._store(sealed, why)

    def _store(self, sealed: Sequence[Sealed], why: str) -> bool:
        """The same for events that are the worker's alone: no longer in `_held`, where close() would take them.

        What the disk refuses is held again, unless close() has come and gone meanwhile.
        """
        left: Sequence[Sealed] = ()
        if self.latched:
            self._keeper.set_aside(sealed, "the token is not accepted")
        else:
            left = self._keeper.spill(sealed, why)
        self._say_safe(sealed[: len(sealed) - len(left)])
        with self._hands:
            if not self._shutdown.abandoned:
                self._held = left
            else:
                self._keeper.give_up(left, "the disk took no more")
        if left and not self.breaker.is_open and self._may_send():
            self.breaker.trip()
        return not left

    def _count(self, event: Sealed, fate: Fate, reason: str) -> None:
        if fate is Fate.ACCEPTED:
            self._counts.add(accepted=1)
        elif fate is Fate.DUPLICATE:
            self._counts.add(duplicate=1)
        else:
            self._counts.add(dropped=1)
            self._voice.say(
                logging.ERROR,
                f"refused {event.event_type}",
                f"the service refused {event.event_type}: {reason}",
            )

    def _latch(self, why: str) -> None:
        self.latched = True
        self._voice.once(
            logging.ERROR,
            "401",
            f"the service does not accept SVC_TOKEN ({why}); nothing more is sent by this process",
        )

    def _back(self) -> None:
        if self.breaker.is_open:
            self.breaker.reset()
            self.recovered.set()
            self._voice.say(logging.INFO, "recovered", "the service answers again")

    def _drain_own(self, *, once: bool) -> bool:
        """Send this batch's spilled events. False when there are none."""
        if self._sender is None:
            return False
        self._pass_by = True
        with self._send_under_way():
            result = self._own_spill.drain(self._sender, self._back, once=once)
        if result is Stopped.UNREACHABLE:
            self.breaker.trip()
        elif result is Stopped.UNAUTHORISED:
            self._latch("while sending spilled events")
        elif result is Stopped.INTERRUPTED:
            if self._shutdown.closing:
                self._no_more_sending = self._interrupted = True
            self._drain_after = self._parked_until
        return result is not Drained.EMPTY


def _fitting(events: Sequence[Sealed], limit_bytes: int) -> Sequence[Sealed]:
    """The longest head of `events` whose array body stays under the limit; at least one event."""
    size = 0
    for count, event in enumerate(events):
        size += event.size + 1
        if size > limit_bytes and count:
            return events[:count]
    return events
