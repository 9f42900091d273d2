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
from ._replay import Replay, modified
from ._sender import Sender, Stopped
from ._tuning import Tuning


class Drained(Enum):
    """How far a drain came, beside the reasons of `Stopped`."""

    EMPTY = "empty"
    """There was no file: another process has taken it over."""
    SOME = "some"
    """One request's worth; there may be more."""


class OwnSpill:
    """`count` is called with the outcome of every own event. Events of other runs in the file do not count."""

    def __init__(
        self, keeper: Keeper, ids: EventIds, voice: Voice, tuning: Tuning, count: Callable[[Sealed, Fate, str], None]
    ) -> None:
        self._keeper = keeper
        self._ids = ids
        self._voice = voice
        self._tuning = tuning
        self._count = count
        self._answered: Callable[[], None] = lambda: None
        self._replay: Replay | None = None

    @property
    def waiting(self) -> int:
        return self._keeper.own_waiting + (self._replay is not None)

    def drain(self, sender: Sender, answered: Callable[[], None], *, once: bool) -> Stopped | Drained:
        """Replay one request of the batch's files; `answered` is called with every acknowledgement. `once`: a probe."""
        self._answered = answered
        if self._replay is None:
            self._replay = self._next()
            if self._replay is None:
                self._keeper.forget_own()
                return Drained.EMPTY
        done = self._replay.step(sender, once=once)
        if done is None:
            return Drained.SOME
        self._replay = None
        if done.left is not None:
            self._keeper.files.add(done.left)  # under another name, if the old one is in use again
        if done.stopped is Stopped.UNREADABLE:
            self._keeper.forget_own()
        return done.stopped or Drained.SOME

    def release(self) -> None:
        """No more of this: a file that is half sent goes back to the folder."""
        replay, self._replay = self._replay, None
        if replay is not None:
            self._keeper.files.add(replay.release())

    def _next(self) -> Replay | None:
        for path in sorted(self._keeper.files, key=modified):
            held = claim(path)
            if held is not None:
                return Replay(held, self._tuning, self._voice, self._on_fate)
        return None

    def _on_fate(self, event: Sealed, fate: Fate, reason: str) -> None:
        self._answered()
        if self._ids.mine(event.event_id):
            self._keeper.settled_from_disk(1)
            if fate is Fate.SET_ASIDE:
                self._keeper.set_aside([event], reason)
            else:
                self._count(event, fate, reason)
        elif fate is Fate.SET_ASIDE:
            self._keeper.set_aside_foreign(event, reason)
