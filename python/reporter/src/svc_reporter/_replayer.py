"""Replays what earlier processes left in the spill folder, at the start of a reporter (specification §2.4)."""

from __future__ import annotations

import logging
import threading

from ._answers import Fate
from ._claims import claim
from ._envelope import Sealed
from ._ids import EventIds
from ._keep import Keeper
from ._log import Voice
from ._replay import in_order, replay
from ._sender import Sender, Stopped
from ._shutdown import Shutdown
from ._transport import Transport
from ._tuning import Tuning


class Replayer(threading.Thread):
    """Beside the worker, with a connection of its own, so that a large backlog does not hold up live events."""

    def __init__(
        self,
        transport: Transport,
        keeper: Keeper,
        ids: EventIds,
        shutdown: Shutdown,
        recovered: threading.Event,
        voice: Voice,
        tuning: Tuning,
    ) -> None:
        super().__init__(name="svc-reporter-replay", daemon=True)
        self._keeper = keeper
        self._ids = ids
        self._shutdown = shutdown
        self._recovered = recovered
        self._voice = voice
        self._tuning = tuning
        self._sender = Sender(transport, tuning, shutdown.pause)
        self.waiting = False
        """The service is away and there is nothing to do until it is back."""

    def run(self) -> None:
        try:
            while self._round() is Stopped.UNREACHABLE and not self._shutdown.closing:
                self.waiting = True
                self._recovered.wait()
                self._recovered.clear()
                self.waiting = False
        except Exception as error:
            self._voice.say(logging.WARNING, "replay", f"the replay of earlier events stumbled: {error!r}")

    def _round(self) -> Stopped | None:
        for path in in_order(self._keeper.folder.candidates, self._tuning):
            if self._shutdown.abandoned or (self._shutdown.closing and not self._shutdown.left_s()):
                return Stopped.INTERRUPTED
            if path in self._keeper.files:
                continue  # being written by this very reporter, whose worker drains it
            held = claim(path)
            if held is None:
                continue  # another process was quicker
            stopped = replay(held, self._sender, self._tuning, self._voice, self._on_fate).stopped
            if stopped in (Stopped.UNREACHABLE, Stopped.UNAUTHORISED, Stopped.INTERRUPTED):
                return stopped
        return None

    def _on_fate(self, event: Sealed, fate: Fate, reason: str) -> None:
        if fate is Fate.SET_ASIDE:
            self._keeper.set_aside_foreign(event, reason)
        elif fate is Fate.DROPPED:
            self._voice.say(
                logging.ERROR, "replay refused", f"the service refused a spilled {event.event_type}: {reason}"
            )
