"""Sends events and reports the fate of each: attempts, backoff, waiting, and finding the one bad item.

Used by the worker for live events and by the replay for spilled ones; it keeps no events itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ._answers import Fate, Step, judge
from ._columns import apart, body_of
from ._envelope import Sealed
from ._needed_version import warn_if_older
from ._transport import EPOCHS_TYPE, Answer, Transport, Unreachable
from ._tuning import Tuning


class Stopped(Enum):
    """Why a send ended before every event had its fate."""

    UNREACHABLE = "unreachable"
    UNAUTHORISED = "unauthorised"
    INTERRUPTED = "interrupted"
    """The reporter is closing and cannot wait that long."""
    UNREADABLE = "unreadable"
    """Of a replay: the spill file itself cannot be read or kept up to date."""


@dataclass
class Sent:
    fates: list[Fate | None]
    """Aligned with the events; None where nothing is known."""
    reasons: dict[int, str]
    stopped: Stopped | None = None
    why: str = ""
    ignored: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each value that the service left out."""


_NOT_TAKEN = (400, 415, 422)
"""Answers to columns after which the same events are sent as an array."""

Pause = Callable[[float], bool]
"""Wait so many seconds; False when there is no time for it."""


class Sender:
    def __init__(self, transport: Transport, tuning: Tuning, pause: Pause) -> None:
        self._transport = transport
        self._tuning = tuning
        self._pause = pause

    def send(self, events: Sequence[Sealed], *, once: bool = False) -> Sent:
        """Deliver `events`: one array at 20 and more, one by one below. `once` makes it a single attempt."""
        sent = Sent([None] * len(events), {})
        positions = list(range(len(events)))
        threshold = self._tuning.array_threshold
        if len(positions) >= threshold:
            columns = self._transport.takes_columns
            parts = apart(events, positions, threshold) if columns else [(positions, False)]
            for part, as_columns in parts:
                if sent.stopped is None:
                    self._deliver(events, part, sent, once, least=1, as_columns=as_columns)
            return sent
        for position in positions:
            if sent.stopped is None:
                self._deliver(events, [position], sent, once)
        return sent

    def _deliver(
        self,
        events: Sequence[Sealed],
        positions: list[int],
        sent: Sent,
        once: bool,
        *,
        least: int | None = None,
        as_columns: bool = False,
    ) -> None:
        least = self._tuning.array_threshold if least is None else least
        backoff = () if once else self._tuning.backoff_s
        failures = 0
        while positions and sent.stopped is None:
            as_array = len(positions) >= least
            if len(positions) > 1 and not as_array:  # what is left of an array, now below the threshold
                for position in positions:
                    if sent.stopped is None:
                        self._deliver(events, [position], sent, once)
                return
            wait_s: float | None = None
            try:
                answer = self._request([events[p] for p in positions], as_array, as_columns)
                if as_columns and answer.status in _NOT_TAKEN:
                    # A server of an earlier release behind the same address: the same events in its words.
                    self._transport.takes_columns = as_columns = False
                    continue
                warn_if_older(answer, self._transport.target)
                verdict = judge(answer, len(positions), as_array, self._tuning)
                why = verdict.reason
                if verdict.step is Step.UNAUTHORISED:
                    sent.stopped, sent.why = Stopped.UNAUTHORISED, why
                    return
                if verdict.step is Step.SPLIT:
                    half = len(positions) // 2
                    self._deliver(events, positions[:half], sent, once)
                    self._deliver(events, positions[half:], sent, once)
                    return
                if verdict.step is Step.SETTLED:
                    sent.ignored += verdict.ignored
                    again: list[int] = []
                    for at, (position, fate) in enumerate(zip(positions, verdict.fates, strict=True)):
                        if fate is Fate.AGAIN:
                            again.append(position)
                            why = verdict.reasons.get(at, why)
                            continue
                        sent.fates[position] = fate
                        if at in verdict.reasons:
                            sent.reasons[position] = verdict.reasons[at]
                    if not again:
                        return
                    positions = again
                elif verdict.step is Step.WAIT:
                    wait_s = verdict.wait_s
            except Unreachable as error:
                why = str(error)
            if wait_s is None:
                if failures >= len(backoff):
                    sent.stopped, sent.why = Stopped.UNREACHABLE, why
                    return
                wait_s = backoff[failures]
                failures += 1
            if not self._pause(wait_s):
                sent.stopped, sent.why = Stopped.INTERRUPTED, why
                return

    def _request(self, events: list[Sealed], as_array: bool, as_columns: bool) -> Answer:
        if as_array and as_columns:
            return self._transport.post("/api/events/batch", body_of(events), EPOCHS_TYPE)
        if as_array:
            return self._transport.post("/api/events/batch", b"[" + b",".join(e.line for e in events) + b"]")
        return self._transport.post("/api/events", events[0].line)
