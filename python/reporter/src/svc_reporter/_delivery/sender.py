"""Sends events and returns the outcome of each: retries with backoff, waits after a 429, and bisects rejected arrays.

The worker uses it for live events, the replay for spilled ones. It stores no events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from .._shared.tuning import Tuning
from .columns import apart, body_of
from .needed_version import warn_if_older
from .queue import EncodedEvent
from .responses import Outcome, Step, interpret
from .transport import EPOCHS_TYPE, Response, Transport, Unreachable


class Stopped(Enum):
    """Why a send or replay ended before every event had an outcome."""

    UNREACHABLE = "unreachable"
    UNAUTHORISED = "unauthorised"
    INTERRUPTED = "interrupted"
    """The pause before the next attempt was cut short (see `Pause`)."""
    UNREADABLE = "unreadable"
    """Only of a replay: the spill file cannot be read, or its offset cannot be written."""


@dataclass
class Sent:
    """The result of `Sender.send`."""

    outcomes: list[Outcome | None]
    """One for each event, in the same order; None if unknown."""
    reasons: dict[int, str]
    """By position: why that event was rejected."""
    stopped: Stopped | None = None
    why: str = ""
    ignored: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each value that the service did not store."""
    deleted: EncodedEvent | None = None
    """An event that was stored in a batch in the trash."""


_NOT_TAKEN = (400, 415, 422)
"""Statuses of a server that does not know columns: the same events are sent again as an array."""


class Refusing:
    """A sender for events whose token the service does not accept: each is rejected without a request."""

    def send(self, events: Sequence[EncodedEvent], *, once: bool = False) -> Sent:
        return Sent([Outcome.REJECTED] * len(events), {})


Pause = Callable[[float], bool]
"""Waits so many seconds. Returns False if it was cut short; then the send ends."""


class Sender:
    def __init__(self, transport: Transport, tuning: Tuning, pause: Pause) -> None:
        self._transport = transport
        self._tuning = tuning
        self._pause = pause

    def send(self, events: Sequence[EncodedEvent], *, once: bool = False) -> Sent:
        """Send `events`, from 20 on as an array, fewer one by one. `once` sends without retries. Never raises."""
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
        events: Sequence[EncodedEvent],
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
            if len(positions) > 1 and not as_array:  # the rest of an array, now below the threshold
                for position in positions:
                    if sent.stopped is None:
                        self._deliver(events, [position], sent, once)
                return
            wait_s: float | None = None
            try:
                response = self._request([events[p] for p in positions], as_array, as_columns)
                if as_columns and response.status in _NOT_TAKEN:
                    # A server of an earlier release at the same address: send the events in the older format.
                    self._transport.takes_columns = as_columns = False
                    continue
                warn_if_older(response, self._transport.target)
                result = interpret(response, len(positions), as_array, self._tuning)
                why = result.reason
                if result.step is Step.UNAUTHORISED:
                    sent.stopped, sent.why = Stopped.UNAUTHORISED, why
                    return
                if result.step is Step.SPLIT:
                    half = len(positions) // 2
                    self._deliver(events, positions[:half], sent, once)
                    self._deliver(events, positions[half:], sent, once)
                    return
                if result.step is Step.SETTLED:
                    sent.ignored += result.ignored
                    if result.deleted is not None:
                        sent.deleted = events[positions[result.deleted]]
                    retry: list[int] = []
                    for at, (position, outcome) in enumerate(zip(positions, result.outcomes, strict=True)):
                        if outcome is Outcome.RETRY:
                            retry.append(position)
                            why = result.reasons.get(at, why)
                            continue
                        sent.outcomes[position] = outcome
                        if at in result.reasons:
                            sent.reasons[position] = result.reasons[at]
                    if not retry:
                        return
                    positions = retry
                elif result.step is Step.WAIT:
                    wait_s = result.wait_s
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

    def _request(self, events: list[EncodedEvent], as_array: bool, as_columns: bool) -> Response:
        if as_array and as_columns:
            return self._transport.post("/api/events/batch", body_of(events), EPOCHS_TYPE)
        if as_array:
            return self._transport.post("/api/events/batch", b"[" + b",".join(e.line for e in events) + b"]")
        return self._transport.post("/api/events", events[0].line)
