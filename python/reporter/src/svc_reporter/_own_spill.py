"""Sends what this reporter itself has spilled, once the service answers again."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ._answers import Fate
from ._claims import claim
from ._envelope import Sealed
from ._ids import EventIds
from ._keep import Keeper
from ._log import Voice
from ._replay import modified, replay
from ._sender import Sender, Stopped
from ._tuning import Tuning


class Drained(Enum):
    """How far a drain came, beside the reasons of `Stopped`."""

    EMPTY = "empty"
    """There was no file: another process has taken it over."""
    ALL = "all"


class OwnSpill:
    """`count` is told the fate of every own event; others' events in the same file are not in this run's counts."""

    def __init__(
        self, keeper: Keeper, ids: EventIds, voice: Voice, tuning: Tuning, count: Callable[[Sealed, Fate, str], None]
    ) -> None:
        self._keeper = keeper
        self._ids = ids
        self._voice = voice
        self._tuning = tuning
        self._count = count

    @property
    def waiting(self) -> int:
        return self._keeper.own_waiting

    def drain(self, sender: Sender, answered: Callable[[], None], *, once: bool) -> Stopped | Drained:
        """Replay the batch's file; `answered` is called with every acknowledgement. `once`: as a probe."""

        def on_fate(event: Sealed, fate: Fate, reason: str) -> None:
            answered()
            if self._ids.mine(event.event_id):
                self._keeper.settled_from_disk(1)
                if fate is Fate.SET_ASIDE:
                    self._keeper.set_aside([event], reason)
                else:
                    self._count(event, fate, reason)
            elif fate is Fate.SET_ASIDE:
                self._keeper.set_aside_foreign(event, reason)

        for path in sorted(self._keeper.files, key=modified):
            held = claim(path)
            if held is not None:
                stopped, left = replay(held, sender, self._tuning, self._voice, on_fate, once=once)
                if left is not None:
                    self._keeper.files.add(left)  # under another name, if the old one is in use again
                if stopped is Stopped.UNREADABLE:
                    self._keeper.forget_own()
                return stopped or Drained.ALL
        self._keeper.forget_own()
        return Drained.EMPTY
