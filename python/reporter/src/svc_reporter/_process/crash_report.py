"""What the watchdog sends after the training died: the ends of its jobs and batch, then its spilled events."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from .._delivery.delivery import Counts
from .._delivery.envelope import EventEncoder
from .._delivery.queue import EncodedEvent, QueuedEvent
from .._delivery.replay import in_order, reject_others, replay
from .._delivery.sender import Sender
from .._delivery.spill_writer import SpillWriter
from .._delivery.transport import Target, Transport, Unreachable
from .._disk.claims import claim
from .._disk.run_record import find_record
from .._disk.spill import SpillFolder, file_name, folders
from .._shared.ids import EventIds, now_ms
from .._shared.messages import Messages
from .._shared.tuning import DEFAULT
from .failure import STOPPED

if TYPE_CHECKING:
    from pathlib import Path

    from .watchdog_child import RunState

_TIMEOUT_S = 3.0


def send_crash_report(run: RunState, cause: str, deadline: float) -> None:
    """End the run of a dead process, as failed with the reason `cause`.

    Events that cannot be sent by `deadline` (time.monotonic()) are spilled.
    """
    facts = run.facts
    messages = Messages()
    ids = EventIds()
    batch_id = str(facts["batch_id"])
    encoder = EventEncoder(str(facts["project"]), batch_id, {"host": str(facts["host"])}, ids, messages, DEFAULT)
    spill_writer = SpillWriter(SpillFolder.of(facts.get("folder")), batch_id, Counts(), messages)
    encoded = [EncodedEvent(one["id"], one["type"], one["line"].encode("utf-8")) for one in run.encoded.values()]
    # They have a sender id of their own and no delivery counts: it is unknown how many events the process produced.
    own = [*_starts(run), *_ends(run, cause)]
    events = [*encoded, *(event for event in map(encoder.encode, own) if event is not None)]
    if not facts.get("url") or not facts.get("token"):
        spill_writer.spill(events)
        return
    transport = Transport(Target.parse(str(facts["url"])), str(facts["token"]), _TIMEOUT_S)

    def pause(seconds: float) -> bool:
        if time.monotonic() + seconds > deadline - _TIMEOUT_S:
            return False
        time.sleep(seconds)
        return True

    sender = Sender(transport, DEFAULT, pause)
    sent = sender.send(events)
    unknown = [event for event, outcome in zip(events, sent.outcomes, strict=True) if outcome is None]
    if unknown:
        spill_writer.spill(unknown)
        return
    _replay_files(batch_id, spill_writer, sender, messages, deadline - _TIMEOUT_S)
    if _gives_back(run, cause):
        # After the replay: the job may have ended, and only its end was still on disk.
        keep = {**run.facts["keep"], "url": facts["url"], "token": facts["token"]}
        send_lease(keep, release=True, evicted="SIGTERM" in cause)


_KILLED = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "ended unexpectedly")
"""Ends that come from outside. Others, and a lack of memory, may be due to the parameters: these trials fail."""


def _gives_back(run: RunState, cause: str) -> bool:
    """Whether another worker shall get the trial of a dead process."""
    if not run.facts.get("keep") or run.stopping or run.failure is not None:
        return False
    return "out of memory" not in cause and any(word in cause for word in _KILLED)


def send_lease(facts: dict[str, Any], *, release: bool = False, evicted: bool = False) -> bool:
    """Renew the lease of a trial, or give the trial back. False if another worker has it."""
    try:
        transport = Transport(Target.parse(str(facts["url"])), str(facts["token"]), _TIMEOUT_S)
    except ValueError:
        return False
    try:
        body = json.dumps(
            {"ask_id": facts["ask_id"], "release": release, **({"evicted": True} if evicted else {})}
        ).encode()
        return transport.post(str(facts["path"]), body).status not in (401, 403, 404, 409)
    except Unreachable:
        return True
    finally:
        transport.close()


def send_spilled(facts: dict[str, Any], deadline: float, *, once: bool = False) -> bool:
    """Send the events on disk of a batch until `deadline` (time.monotonic()). False if something stopped it.

    `once` sends without retries, so that other processes can have the files soon.
    """
    messages = Messages()
    batch_id = str(facts["batch_id"])
    spill_writer = SpillWriter(SpillFolder.of(facts.get("folder")), batch_id, Counts(), messages)
    transport = Transport(Target.parse(str(facts["url"])), str(facts["token"]), DEFAULT.request_timeout_s)

    def pause(seconds: float) -> bool:
        if time.monotonic() + seconds > deadline:
            return False
        time.sleep(seconds)
        return True

    try:
        sender = Sender(transport, DEFAULT, pause)
        if not _replay_files(batch_id, spill_writer, sender, messages, deadline, once=once):
            return False
        return _send_files(facts, transport, deadline)
    finally:
        transport.close()


def has_unsent(facts: dict[str, Any]) -> bool:
    """Whether events or files of a batch wait on disk for a service."""
    from .._disk.file_store import FileStore

    if not facts.get("url") or not facts.get("token"):
        return False
    batch_id, folder = str(facts["batch_id"]), facts.get("folder")
    return bool(_spill_files(batch_id, SpillFolder.of(folder))) or FileStore(folder).counts(batch_id) != (0, 0)


def _spill_files(batch_id: str, folder: SpillFolder) -> list[Path]:
    """The batch's spill files that can be claimed, least recently modified first."""
    name = file_name(batch_id)[: -len("jsonl")]
    return [path for path in in_order(folder.sources, DEFAULT) if path.name.startswith(name)]


def _send_files(facts: dict[str, Any], transport: Transport, deadline: float) -> bool:
    """Send the files of a batch that wait on disk. False if something stopped it."""
    from .._delivery.uploads import Uploads
    from .._disk.file_store import FileStore

    store = FileStore(facts.get("folder"))
    uploads = Uploads(store, transport, may_go_on=lambda: time.monotonic() < deadline)
    return uploads.round(store.waiting(str(facts["batch_id"]))).halt is None


def _replay_files(
    batch_id: str, spill_writer: SpillWriter, sender: Sender, messages: Messages, deadline: float, *, once: bool = False
) -> bool:
    """Send the batch's spill files. False if something stopped it before the end."""

    settle = partial(reject_others, spill_writer)
    for path in _spill_files(batch_id, spill_writer.folder):
        if time.monotonic() > deadline:
            return False
        held = claim(path)
        if held is not None and replay(held, sender, DEFAULT, messages, settle, once=once).stopped is not None:
            return False
    return True


def has_ended(run: RunState, pid: int) -> bool:
    """Whether the record of the run says that the process ended it.

    A script that closes all files of its process closes the socket to the watchdog, too.
    """
    record = find_record(folders(run.facts.get("folder")), str(run.facts["batch_id"]))
    return record is not None and record.ended and record.data.get("pid") == pid


def _starts(run: RunState) -> list[QueuedEvent]:
    """Start events that the training had no time to encode; `batch_start` comes without the state of git."""
    events: list[QueuedEvent] = []
    if run.start is not None:
        events.append(QueuedEvent(0, "batch_start", None, int(run.began * 1000), run.start))
    for job_id, (began, data) in run.job_starts.items():
        events.append(QueuedEvent(len(events), "job_start", job_id, int(began * 1000), data))
    return events


def _ends(run: RunState, cause: str) -> list[QueuedEvent]:
    failure: str | None = cause
    if run.stopping:
        failure = STOPPED
    elif run.closing:
        failure = run.failure
    ms = now_ms()
    events: list[QueuedEvent] = []
    if _gives_back(run, cause) or (run.facts.get("trial") and not run.facts.get("keep") and failure == cause):
        return events  # another worker gets the trial
    stderr_tail: dict[str, Any] = {}
    if failure == cause and run.stderr:
        stderr_tail = {"traceback": "The last lines on stderr:\n" + "\n".join(run.stderr)}
    for job_id, began in run.jobs.items():
        elapsed_s = round(max(0.0, ms / 1000 - began), 3)
        data: dict[str, Any] = {"reason": failure or cause, "elapsed_s": elapsed_s, **stderr_tail}
        events.append(QueuedEvent(len(events), "job_failed", job_id, ms, data))
    if run.facts.get("joined"):
        return events
    data = {
        "total_elapsed_s": round(max(0.0, ms / 1000 - run.began), 3),
        "n_done": run.n_done,
        "n_failed": run.n_failed + len(run.jobs),
    }
    if failure is not None:
        data.update(reason=failure, **stderr_tail)
    events.append(QueuedEvent(len(events), "batch_failed" if failure else "batch_done", None, ms, data))
    return events
