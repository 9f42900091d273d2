"""Sends the events that this reporter has spilled, once the service can be reached again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from .._disk.claims import claim
from .._shared.ids import EventIds
from .._shared.messages import Messages
from .._shared.tuning import Tuning
from .queue import EncodedEvent
from .replay import Replay, modified, reject_others
from .responses import Outcome
from .sender import Refusing, Sender, Stopped
from .spill_writer import SpillWriter


class Drained(Enum):
    """The result of `OwnSpill.drain` if nothing stopped it."""

    EMPTY = "empty"
    """There is no file: another process has claimed it."""
    SOME = "some"
    """One request was sent; there may be more events."""


class OwnSpill:
    """`count` is called with the outcome of each event of this reporter, not with those of other runs in the file."""

    def __init__(
        self,
        spill_writer: SpillWriter,
        ids: EventIds,
        messages: Messages,
        tuning: Tuning,
        count: Callable[[EncodedEvent, Outcome, str], None],
    ) -> None:
        self._spill_writer = spill_writer
        self._ids = ids
        self._messages = messages
        self._tuning = tuning
        self._count = count
        self._on_acknowledged: Callable[[], None] = lambda: None
        self._replay: Replay | None = None

    @property
    def waiting(self) -> int:
        return self._spill_writer.waiting + (self._replay is not None)

    def drain(self, sender: Sender | Refusing, on_acknowledged: Callable[[], None], *, once: bool) -> Stopped | Drained:
        """Send one request of spilled events. `on_acknowledged` is called once events have got outcomes.

        `once` sends without retries, as a probe of the circuit breaker. Never raises.
        """
        self._on_acknowledged = on_acknowledged
        if self._replay is None:
            self._replay = self._next()
            if self._replay is None:
                self._spill_writer.forget_waiting()
                return Drained.EMPTY
        done = self._replay.step(sender, once=once)
        if done is None:
            return Drained.SOME
        self._replay = None
        if done.left is not None:
            self._spill_writer.files.add(
                done.left
            )  # it may have a new name, if another process has written a file with the old one
        if done.stopped is Stopped.UNREADABLE:
            self._spill_writer.forget_waiting()
        return done.stopped or Drained.SOME

    def release(self) -> None:
        """End the replay; the rest of its file stays in the folder for a later one."""
        replay, self._replay = self._replay, None
        if replay is not None:
            self._spill_writer.files.add(replay.release())

    def _next(self) -> Replay | None:
        for path in sorted(self._spill_writer.files, key=modified):
            held = claim(path)
            if held is not None:
                return Replay(held, self._tuning, self._messages, self._on_outcomes)
        return None

    def _on_outcomes(self, settled: Sequence[tuple[EncodedEvent, Outcome, str]]) -> None:
        self._on_acknowledged()
        own = [one for one in settled if self._ids.mine(one[0].event_id)]
        accepted = sum(outcome is Outcome.ACCEPTED for _, outcome, _ in own)
        self._spill_writer.count_replayed(len(own), accepted)
        if accepted == len(settled):
            return
        for event, outcome, reason in own:
            if outcome is Outcome.REJECTED:
                self._spill_writer.reject([event], reason)
            elif outcome is not Outcome.ACCEPTED:
                self._count(event, outcome, reason)
        reject_others(self._spill_writer, [one for one in settled if not self._ids.mine(one[0].event_id)])
