"""Creates the queue and the threads of one open reporter, and closes them within a timeout."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from .._disk.spill import SpillFolder
from .._shared.ids import EventIds, now_ms
from .._shared.messages import Messages
from .delivery import Counts, Delivery
from .envelope import EventEncoder
from .overflow import Overflow
from .queue import STARTS_AND_ENDS, EncodedEvent, EventData, EventQueue, QueuedEvent
from .replayer import Replayer
from .settings import Settings
from .shutdown import Shutdown
from .spill_writer import SpillWriter
from .transport import Transport
from .worker import Watcher, Worker

_FLUSH_SHARE = 0.7
"""Share of the close timeout for the waiting events; the rest is for the last event, with the delivery counts."""

_HURRY_S = 1.0
"""Seconds that close() may still take after a signal: enough for the last event, if the service responds."""

_EARLY_S = 0.5
_EARLY_EVENTS = 300
"""The watchdog keeps so many events of a run's first half second until the worker has made them safe: a program that
dies at once would leave none of them. Later, the worker is at most 50 ms behind."""

_WRITE_TIMEOUT_S = 0.5
"""Seconds beyond its deadline that close() waits for a thread that is writing to disk."""


class Pipeline:
    def __init__(
        self,
        *,
        project: str,
        batch_id: str,
        source: dict[str, str],
        settings: Settings,
        queue_size: int,
        messages: Messages,
    ) -> None:
        tuning = self._tuning = settings.tuning
        self._messages = messages
        self._settings = settings
        self._counts = Counts()
        self._ids = EventIds()
        self._shutdown = Shutdown()
        self._queue = EventQueue(queue_size, self._counts)
        self._encoder = EventEncoder(project, batch_id, source, self._ids, messages, tuning)
        self._spill_writer = SpillWriter(SpillFolder.of(settings.folder), batch_id, self._counts, messages)
        self._transport = self._new_transport()
        self._worker = Worker(
            self._queue,
            self._encoder,
            self._transport,
            self._spill_writer,
            self._counts,
            self._ids,
            self._shutdown,
            messages,
            settings,
        )
        self._overflow = Overflow(
            self._queue, self._encoder, self._spill_writer, self._counts, self._shutdown, self._worker, messages
        )
        self._early_left = _EARLY_EVENTS
        self._early_until = time.monotonic() + _EARLY_S
        self._replayer: Replayer | None = None
        self._replay_transport = self._new_transport()
        if self._replay_transport is not None:
            self._replayer = Replayer(
                self._replay_transport,
                self._spill_writer,
                self._ids,
                self._shutdown,
                self._worker.recovered,
                messages,
                tuning,
            )

    @property
    def watched(self) -> Watcher | None:
        """The connection to the watchdog; set it before `start`."""
        return self._worker.watched

    @watched.setter
    def watched(self, watched: Watcher | None) -> None:
        self._worker.watched = watched

    def start(self) -> None:
        self._overflow.start()
        for thread in (self._worker, self._replayer):
            if thread is not None:
                try:
                    thread.start()
                except RuntimeError as error:  # out of threads, or at interpreter exit
                    self._messages.log_once(
                        logging.ERROR,
                        "threads",
                        f"cannot start a thread of the reporter; events stay on disk until a later run: {error}",
                    )

    def put(self, event_type: str, job_id: str | None, data: EventData, ms: int | None = None) -> None:
        """Add an event; `ms` is its Unix time in milliseconds, default now."""
        at = now_ms() if ms is None else ms
        if self._early_left > 0 and event_type not in STARTS_AND_ENDS:
            data = self._keep_early(event_type, job_id, at, data)
        spills = self._queue.put(event_type, job_id, at, data)
        if spills:
            self._overflow.wake()
        self._worker.pace.wake()

    def _keep_early(self, event_type: str, job_id: str | None, ms: int, data: EventData) -> EventData:
        """Have the watchdog keep an event of the first moments, which the worker may be too late for."""
        watched = self.watched
        self._early_left -= 1
        if watched is None or time.monotonic() > self._early_until:
            self._early_left = 0
            return data
        encoded = self._encoder.encode(QueuedEvent(0, event_type, job_id, ms, data))
        if encoded is None:
            return data  # the worker finds the same, and counts it
        watched.keep_early(encoded)
        return encoded

    def count_lost(self) -> None:
        """Count a report that could not be turned into an event: as produced and dropped."""
        self._queue.count_lost()

    @property
    def delivery(self) -> Delivery:
        return self._counts.read(self._queue.produced)

    @property
    def receipt(self) -> dict[str, int | str]:
        """The delivery counts as an event carries them, with the sender that they belong to."""
        return {"sender": self._ids.sender, **self.delivery.as_data()}

    @property
    def has_service(self) -> bool:
        """Whether a service is configured that has not refused the token."""
        return self._transport is not None and not self._worker.token_refused

    @property
    def has_unsent(self) -> bool:
        """Whether events are on disk that a later request can deliver."""
        return self.has_service and self.delivery.spilled > 0

    @property
    def is_refused(self) -> bool:
        """Whether the service has refused this run: it has none of its events, and gets no more."""
        delivery = self.delivery
        return delivery.rejected > 0 and delivery.accepted + delivery.duplicate + delivery.spilled == 0

    @property
    def is_quiet(self) -> bool:
        """Whether no event waits to be sent."""
        return self._is_idle() or not self._worker.is_alive()

    @property
    def may_poll(self) -> bool:
        """Whether a request for the stop flag can succeed."""
        return self._transport is not None and not self._worker.token_refused and not self._worker.breaker.is_open

    def poll_transport(self, timeout_s: float | None = None) -> Transport | None:
        transport = self._new_transport()
        if transport is not None and timeout_s is not None:
            transport.timeout_s = timeout_s
        return transport

    def flush(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` seconds. True if the service has every event so far."""
        end = time.monotonic() + timeout_s
        self._wait(lambda: self._is_idle() and not self._worker.is_draining(), lambda: end)
        delivery = self.delivery
        return delivery.pending <= 0 and delivery.spilled == 0

    def close(self, timeout_s: float, last_event: Callable[[], None]) -> None:
        """Flush, put the last event, and end the threads, all within `timeout_s` seconds.

        The calling thread writes events that are still unsent to the spill file. Never raises.
        """
        begin = time.monotonic()
        self._shutdown.begin(timeout_s)  # no wait of any thread may exceed this deadline
        self._worker.pace.send_now()
        before = self._queue.produced  # other threads may report while this one waits
        self._wait(
            lambda: self._is_idle() or self._settled() >= before,
            lambda: begin + (self._deadline() - begin) * _FLUSH_SHARE,
        )
        last_event()
        self._shutdown.ending = True
        self._overflow.stop()
        self._wait(self._is_settled, self._deadline)
        self._worker.recovered.set()
        for transport in (self._transport, self._replay_transport):
            if transport is not None:
                transport.abort()
        self._spill_rest()
        for thread in (self._worker, self._replayer):
            if thread is not None and thread.is_alive() and thread is not threading.current_thread():
                thread.join(0.2)  # long enough to release its claimed file
        for thread, transport in ((self._worker, self._transport), (self._replayer, self._replay_transport)):
            if transport is not None and (thread is None or not thread.is_alive()):
                transport.close()

    def hurry(self) -> None:
        """For a signal while the same thread is in close(): end it soon."""
        self._shutdown.hurry(_HURRY_S)

    def cut_short(self) -> None:
        """For a signal while another thread is in close(): write unsent events to disk now."""
        self._shutdown.deadline = time.monotonic()
        self._spill_rest()

    def _is_idle(self) -> bool:
        alive = self._worker.is_alive()
        return (self._worker.is_idle() or not alive) and self._overflow.is_idle()

    def _settled(self) -> int:
        """How many events have an outcome or are on disk."""
        delivery = self.delivery
        return delivery.produced - max(0, delivery.pending)

    def _is_settled(self) -> bool:
        replayer = self._replayer
        replaying = replayer is not None and replayer.is_alive() and not replayer.waiting
        return self._is_idle() and not self._worker.is_alive() and not replaying

    def _deadline(self) -> float:
        deadline = self._shutdown.deadline
        return time.monotonic() if deadline is None else deadline

    def _wait(self, done: Callable[[], bool], until: Callable[[], float]) -> None:
        """Poll `done` until it is true or time.monotonic() reaches `until()`, which a signal may move forward.

        No condition variable: a signal handler may run this while the frame that it interrupted holds the lock.
        """
        step = 0.0005
        while not done():
            left = until() - time.monotonic()
            if left <= 0:
                return
            self._worker.pace.send_now()
            time.sleep(min(step, left))
            step = min(step * 1.5, 0.02)

    def _spill_rest(self) -> None:
        rest = self._worker.take_unsent()
        end = time.monotonic() + _WRITE_TIMEOUT_S
        while self._is_writing() and time.monotonic() < end:
            time.sleep(0.005)
        encoded: list[EncodedEvent] = []
        for event in [*rest, *self._queue.take_spillover(len(self._queue.spillover))]:
            done = event if isinstance(event, EncodedEvent) else self._encoder.encode(event)
            if done is None:
                self._counts.add(dropped=1)
            else:
                encoded.append(done)
        if self._worker.token_refused:
            self._spill_writer.reject(encoded, "")
        else:
            why = "the close timeout is over and not every event was sent" if self._transport is not None else ""
            then = "; the next run or `svc-reporter sync` sends them"
            # Apart: only starts and ends may use the room that is kept free, and data must not take it from them.
            data = [event for event in encoded if event.event_type not in STARTS_AND_ENDS]
            ends = [event for event in encoded if event.event_type in STARTS_AND_ENDS]
            left = [*self._spill_writer.spill(data, why, then), *self._spill_writer.spill(ends, why, then)]
            self._spill_writer.count_lost(left, "they could be neither sent nor written to disk")

    def _is_writing(self) -> bool:
        """Whether another thread may be writing events to the spill file."""
        return (self._worker.is_alive() and self._worker.is_busy()) or self._overflow.is_writing()

    def _new_transport(self) -> Transport | None:
        settings = self._settings
        if settings.target is None or not settings.token:
            return None
        return Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
