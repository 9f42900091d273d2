"""What the watchdog sends for a training that has died: the ends of its jobs and its batch, then what is on disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ._answers import Fate
from ._claims import claim
from ._delivery import Counts
from ._envelope import Sealed, Sealer
from ._failure import STOPPED
from ._ids import EventIds, now_ms
from ._keep import Keeper
from ._log import Voice
from ._queue import Pending
from ._replay import in_order, replay
from ._sender import Sender
from ._spill import SpillFolder, file_name, folders
from ._transport import Target, Transport
from ._tuning import DEFAULT

if TYPE_CHECKING:
    from ._watchdog_child import Run

_TIMEOUT_S = 3.0


def send_last_words(run: Run, how: str, deadline: float) -> None:
    """End the run of a dead process; what the service does not take by `deadline` (monotonic) is kept on disk."""
    facts = run.facts
    voice = Voice()
    ids = EventIds()
    batch_id = str(facts["batch_id"])
    sealer = Sealer(str(facts["project"]), batch_id, {"host": str(facts["host"])}, ids, voice, DEFAULT)
    keeper = Keeper(SpillFolder(folders(facts.get("folder"))), batch_id, Counts(), voice)
    sealed = [Sealed(one["id"], one["type"], one["line"].encode("utf-8")) for one in run.sealed.values()]
    # They are a sender of their own, without counts: how much the dead process produced is not known.
    own = [*_starts(run), *_ends(run, how)]
    events = [*sealed, *(event for event in map(sealer.seal, own) if event is not None)]
    if not facts.get("url") or not facts.get("token"):
        keeper.spill(events, "the process has died")
        return
    transport = Transport(Target.parse(str(facts["url"])), str(facts["token"]), _TIMEOUT_S)

    def pause(seconds: float) -> bool:
        if time.monotonic() + seconds > deadline - _TIMEOUT_S:
            return False
        time.sleep(seconds)
        return True

    sender = Sender(transport, DEFAULT, pause)
    sent = sender.send(events)
    unknown = [event for event, fate in zip(events, sent.fates, strict=True) if fate is None]
    if unknown:
        keeper.spill(unknown, "the service is away")
        return
    name = file_name(batch_id)[: -len("jsonl")]

    def settle(event: Sealed, fate: Fate, reason: str) -> None:
        if fate is Fate.SET_ASIDE:
            keeper.set_aside_foreign(event, reason)

    for path in in_order(keeper.folder.candidates, DEFAULT):
        if not path.name.startswith(name) or time.monotonic() > deadline - _TIMEOUT_S:
            continue
        held = claim(path)
        if held is not None and replay(held, sender, DEFAULT, voice, settle).stopped is not None:
            return


def _starts(run: Run) -> list[Pending]:
    """Starts that the training had no time to make: with what it knew then, without the state of git."""
    events: list[Pending] = []
    if run.start is not None:
        events.append(Pending(0, "batch_start", None, int(run.began * 1000), run.start))
    for job_id, (began, data) in run.job_starts.items():
        events.append(Pending(len(events), "job_start", job_id, int(began * 1000), data))
    return events


def _ends(run: Run, how: str) -> list[Pending]:
    failure: str | None = how
    if run.stopping:
        failure = STOPPED
    elif run.closing:
        failure = run.failure
    ms = now_ms()
    events: list[Pending] = []
    cause: dict[str, Any] = {}
    if failure == how and run.stderr:
        cause = {"traceback": "The last lines on stderr:\n" + "\n".join(run.stderr)}
    for job_id, began in run.jobs.items():
        elapsed_s = round(max(0.0, ms / 1000 - began), 3)
        data: dict[str, Any] = {"reason": failure or how, "elapsed_s": elapsed_s, **cause}
        events.append(Pending(len(events), "job_failed", job_id, ms, data))
    if run.facts.get("guest"):
        return events
    data = {
        "total_elapsed_s": round(max(0.0, ms / 1000 - run.began), 3),
        "n_done": run.n_done,
        "n_failed": run.n_failed + len(run.jobs),
    }
    if failure is not None:
        data.update(reason=failure, **cause)
    events.append(Pending(len(events), "batch_failed" if failure else "batch_done", None, ms, data))
    return events
