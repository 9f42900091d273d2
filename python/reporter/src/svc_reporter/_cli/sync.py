"""`svc-reporter sync`: sends the events of spill files, oldest first."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._delivery.delivery import Counts
from .._delivery.queue import EncodedEvent
from .._delivery.replay import in_order, reject_others, replay
from .._delivery.responses import Outcome
from .._delivery.sender import Pause, Sender, Sent, Stopped
from .._delivery.settings import Settings
from .._delivery.shutdown import Shutdown
from .._delivery.spill_writer import SpillWriter
from .._delivery.transport import Transport
from .._delivery.uploads import Uploaded, Uploads
from .._disk.claims import busy, claim
from .._disk.file_store import FileStore
from .._disk.spill import REJECTED, SpillFolder
from .._shared.messages import Messages
from .._shared.tuning import Tuning

_WAIT_S = 10.0
"""For files that another process is sending: the watchdog of a run that has ended, or a run that still goes on."""


@dataclass
class Synced:
    """The result of `sync`."""

    files: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=dict)
    stopped: Stopped | None = None
    left: list[Path] = field(default_factory=list)
    busy: int = 0
    """How many files another process is sending."""
    uploads: Uploaded | None = None
    """What became of images, checkpoints and artifacts that waited."""
    uploads_left: int = 0
    rejected: int = 0
    """How many files of rejected events wait, unless they were the ones to send."""


_ENDS = (Stopped.UNREACHABLE, Stopped.UNAUTHORISED, Stopped.INTERRUPTED)


class _ToProject(Sender):
    """Sends the events that the service rejects, as for their project, to another one."""

    def __init__(self, project: str, transport: Transport, tuning: Tuning, pause: Pause) -> None:
        super().__init__(transport, tuning, pause)
        self.project = project
        self.moved: dict[str, str] = {}
        """By batch id: the project that its events named."""

    def send(self, events: Sequence[EncodedEvent], *, once: bool = False) -> Sent:
        sent = super().send(events, once=once)
        rejected = [at for at, outcome in enumerate(sent.outcomes) if outcome is Outcome.REJECTED]
        if not rejected or sent.stopped is not None:
            return sent
        documents = [json.loads(events[at].line) for at in rejected]
        moved = super().send(
            [self._moved(events[at], one) for at, one in zip(rejected, documents, strict=True)], once=once
        )
        for place, at in enumerate(rejected):
            sent.outcomes[at] = moved.outcomes[place]
            if moved.outcomes[place] in (Outcome.ACCEPTED, Outcome.DUPLICATE):
                self.moved[documents[place]["batch_id"]] = documents[place]["source"]["project"]
            sent.reasons[at] = moved.reasons.get(place, "")
        sent.stopped, sent.why = moved.stopped, moved.why
        return sent

    def _moved(self, event: EncodedEvent, document: dict[str, Any]) -> EncodedEvent:
        moved = {**document, "source": {**document["source"], "project": self.project}}
        return EncodedEvent(event.event_id, event.event_type, json.dumps(moved, ensure_ascii=False).encode())


def sync(
    settings: Settings,
    *,
    rejected: bool = False,
    project: str | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Synced:
    """Replay all spill files, after those of rejected/ if `rejected` is set, and send files of runs.

    What is rejected again goes to `project` if given. Raises ValueError without an address or token.
    """
    if settings.target is None or not settings.token:
        raise ValueError("; ".join(settings.complaints) or "no service is configured: set SVC_URL and SVC_TOKEN")
    messages = Messages()
    tuning = settings.tuning
    folder = SpillFolder.of(settings.folder)
    transport = Transport(settings.target, settings.token, tuning.request_timeout_s)
    shutdown = Shutdown()
    sender = Sender(transport, tuning, shutdown.pause)
    mover = None if project is None else _ToProject(project, transport, tuning, shutdown.pause)
    spill_writer = SpillWriter(folder, "unknown", Counts(), messages)
    done = Synced()

    def on_outcomes(settled: Sequence[tuple[EncodedEvent, Outcome, str]]) -> None:
        reject_others(spill_writer, settled)
        for event, outcome, reason in settled:
            done.outcomes[outcome] = done.outcomes.get(outcome, 0) + 1
            if outcome is Outcome.DROPPED:
                say(f"refused: {event.event_type} {event.event_id}: {reason}")

    rejected_sources = [place / REJECTED for place in folder.sources]
    sources = [*rejected_sources, *folder.sources] if rejected else folder.sources
    deadline = time.monotonic() + _WAIT_S
    tried: set[Path] = set()
    while True:
        for path in _rejected_first(in_order(sources, tuning)):
            held = claim(path) if path not in tried else None
            if held is None:
                continue
            tried.add(path)
            say(f"{held.original} …")
            by = mover if mover is not None and path.parent.name == REJECTED else sender
            done.stopped = replay(held, by, tuning, messages, on_outcomes).stopped
            if done.stopped in _ENDS:
                break
            done.files += 1
        done.busy = sum(busy(place, tuning) for place in sources)
        if done.stopped in _ENDS or done.busy == 0 or time.monotonic() > deadline or not shutdown.pause(0.2):
            break
    if done.stopped not in _ENDS:
        store = FileStore(settings.folder)
        if mover is not None:
            _move_artifacts(store, mover)
        uploads = Uploads(store, transport, may_go_on=lambda: True, say=lambda _topic, text: say(text))
        done.uploads = uploads.round(store.waiting())
        done.uploads_left = sum(len(record.contents) for record in store.waiting())
    transport.close()
    done.left = in_order(sources, tuning)
    if not rejected:
        done.rejected = len(in_order(rejected_sources, tuning))
    return done


def _rejected_first(paths: list[Path]) -> list[Path]:
    """A spill file whose events are rejected now is not sent in the same round to another project."""
    return sorted(paths, key=lambda path: path.parent.name != REJECTED)


def _move_artifacts(store: FileStore, mover: _ToProject) -> None:
    """Artifacts of runs that went to another project, and their uses of artifacts of their own project, go there."""
    for record in store.waiting():
        was = mover.moved.get(record.batch_id or "")
        if was is None or record.data.get("project") != was:
            continue
        with store.claimed(record) as claimed:
            if claimed:
                record.data["project"] = mover.project
                store.rewrite(record)
