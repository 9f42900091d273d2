"""Queue, worker, overflow and replay of one open reporter, wired together; and how they end."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable

from ._delivery import Counts, Delivery
from ._envelope import Sealed, Sealer
from ._ids import EventIds, now_ms
from ._keep import Keeper
from ._log import Voice
from ._overflow import Overflow
from ._queue import EventData, EventQueue
from ._replayer import Replayer
from ._settings import Settings
from ._shutdown import Shutdown
from ._spill import SpillFolder, folders
from ._transport import Transport
from ._watchdog import Watched
from ._worker import Worker

_FLUSH_SHARE = 0.7
"""Of close()'s time for what is pending; the rest is for the last event, which carries the receipt."""

_WRITING_S = 0.5
"""close()'s patience, beyond its deadline, with a thread that writes to disk."""


class Pipeline:
    def __init__(
        self,
        *,
        project: str,
        batch_id: str,
        source: dict[str, str],
        settings: Settings,
        queue_size: int,
        voice: Voice,
    ) -> None:
        tuning = self._tuning = settings.tuning
        self._batch_id = batch_id
        self._voice = voice
        self._settings = settings
        self._counts = Counts()
        self._ids = EventIds()
        self._shutdown = Shutdown()
        self._queue = EventQueue(queue_size, self._counts)
        self._sealer = Sealer(project, batch_id, source, self._ids, voice, tuning)
        self._keeper = Keeper(SpillFolder(folders(settings.folder)), batch_id, self._counts, voice)
        self._transport = self._new_transport()
        self._worker = Worker(
            self._queue,
            self._sealer,
            self._transport,
            self._keeper,
            self._counts,
            self._ids,
            self._shutdown,
            voice,
            tuning,
        )
        self._overflow = Overflow(
            self._queue, self._sealer, self._keeper, self._counts, self._shutdown, self._worker, voice
        )
        self._replayer: Replayer | None = None
        self._replay_transport = self._new_transport()
        if self._replay_transport is not None:
            self._replayer = Replayer(
                self._replay_transport,
                self._keeper,
                self._ids,
                self._shutdown,
                self._worker.recovered,
                voice,
                tuning,
            )

    @property
    def watched(self) -> Watched | None:
        """The run as the watchdog knows it; set before `start`."""
        return self._worker.watched

    @watched.setter
    def watched(self, watched: Watched | None) -> None:
        self._worker.watched = watched

    def start(self) -> None:
        self._overflow.start()
        for thread in (self._worker, self._replayer):
            if thread is not None:
                try:
                    thread.start()
                except RuntimeError as error:  # out of threads, or at interpreter exit
                    self._voice.once(logging.ERROR, "threads", f"a reporter thread cannot start: {error}")

    def put(self, event_type: str, job_id: str | None, data: EventData, ms: int | None = None) -> None:
        spills = self._queue.put(event_type, job_id, now_ms() if ms is None else ms, data)
        if spills:
            self._overflow.wake()
        self._worker.pace.wake()

    def lose(self) -> None:
        self._queue.lose()

    @property
    def delivery(self) -> Delivery:
        return self._counts.read(self._queue.produced)

    @property
    def receipt(self) -> dict[str, int | str]:
        """The counts as an event carries them, with whose they are."""
        return {"sender": self._ids.sender, **self.delivery.as_data()}

    @property
    def may_poll(self) -> bool:
        """Whether asking the service for the stop flag makes sense."""
        return self._transport is not None and not self._worker.latched and not self._worker.breaker.is_open

    def poll_transport(self, timeout_s: float | None = None) -> Transport | None:
        transport = self._new_transport()
        if transport is not None and timeout_s is not None:
            transport.timeout_s = timeout_s
        return transport

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing is pending. True when every event so far has reached the service."""
        self._wait(lambda: self._is_idle() and not self._worker.is_draining(), time.monotonic() + timeout_s)
        delivery = self.delivery
        return delivery.pending <= 0 and delivery.spilled == 0

    def close(self, timeout_s: float, last_event: Callable[[], None]) -> None:
        """Flush, send the last event with the receipt, and end the threads, all within `timeout_s`.

        What is unsettled then is written to the spill file by the calling thread.
        """
        begin = time.monotonic()
        deadline = begin + timeout_s
        self._shutdown.deadline = deadline  # from here on no wait may end later
        self._worker.pace.hurry()
        before = self._queue.produced  # other threads may report for as long as this one waits
        self._wait(lambda: self._is_idle() or self._settled() >= before, begin + timeout_s * _FLUSH_SHARE)
        last_event()
        self._shutdown.ending = True
        self._overflow.stop()
        self._wait(self._is_settled, deadline)
        self._worker.recovered.set()
        for transport in (self._transport, self._replay_transport):
            if transport is not None:
                transport.abort()
        self._spill_rest()
        for thread in (self._worker, self._replayer):
            if thread is not None and thread.is_alive() and thread is not threading.current_thread():
                thread.join(0.2)  # long enough to give its file back
        self._say_losses()

    def cut_short(self) -> None:
        """For a signal that interrupts close(): no more waiting, the rest goes to disk now."""
        self._shutdown.deadline = time.monotonic()
        self._spill_rest()

    def _say_losses(self) -> None:
        """On stderr, with any logging configuration: an incomplete run must not look complete."""
        delivery = self.delivery
        lost = [
            f"{count:,} {word}" for count, word in ((delivery.dropped, "lost"), (delivery.rejected, "refused")) if count
        ]
        if lost:
            try:
                sys.stderr.write(
                    f"svc-reporter: of {delivery.produced:,} events of batch {self._batch_id}, {' and '.join(lost)}: "
                    "its record is incomplete\n"
                )
            except (OSError, ValueError, AttributeError):
                return

    def _is_idle(self) -> bool:
        alive = self._worker.is_alive()
        return (self._worker.is_idle() or not alive) and self._overflow.is_idle()

    def _settled(self) -> int:
        """How many events are with the service, on disk, or counted as lost."""
        delivery = self.delivery
        return delivery.produced - max(0, delivery.pending)

    def _is_settled(self) -> bool:
        replayer = self._replayer
        replaying = replayer is not None and replayer.is_alive() and not replayer.waiting
        return self._is_idle() and not self._worker.is_alive() and not replaying

    def _wait(self, done: Callable[[], bool], until: float) -> None:
        """Poll: a condition variable could be left locked by the very frame that a signal handler interrupted."""
        step = 0.0005
        while not done():
            left = until - time.monotonic()
            if left <= 0:
                return
            self._worker.pace.hurry()
            time.sleep(min(step, left))
            step = min(step * 1.5, 0.02)

    def _spill_rest(self) -> None:
        rest = self._worker.take_over()
        end = time.monotonic() + _WRITING_S
        while self._is_writing() and time.monotonic() < end:
            time.sleep(0.005)
        sealed: list[Sealed] = []
        for event in [*rest, *self._queue.take_spillover(len(self._queue.spillover))]:
            done = event if isinstance(event, Sealed) else self._sealer.seal(event)
            if done is None:
                self._counts.add(dropped=1)
            else:
                sealed.append(done)
        if self._worker.latched:
            self._keeper.set_aside(sealed, "the token is not accepted")
        else:
            left = self._keeper.spill(sealed, "the service did not take everything before the reporter closed")
            self._keeper.give_up(left, "the service is away and the disk took nothing")

    def _is_writing(self) -> bool:
        """A thread may be in the middle of a write to the spill file, of events that are its own by now."""
        return (self._worker.is_alive() and self._worker.busy()) or self._overflow.is_writing()

    def _new_transport(self) -> Transport | None:
        settings = self._settings
        if settings.target is None or not settings.token:
            return None
        return Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
