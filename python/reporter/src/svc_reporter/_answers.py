"""What an answer of the ingest endpoints means for the events in it: the table of specification §7."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ._ids import now_ms
from ._transport import Answer
from ._tuning import Tuning


class Fate(Enum):
    """What became of one event."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    DROPPED = "dropped"
    """Refused permanently."""
    SET_ASIDE = "set aside"
    """Refused for a reason that a user can fix (token, rights, address): kept in rejected/."""
    AGAIN = "again"
    """The service could not take this one item now."""


class Step(Enum):
    """What to do with the whole request."""

    SETTLED = "settled"
    RETRY = "retry"
    WAIT = "wait"
    SPLIT = "split"
    """A refused array: find the item that it was for by sending halves."""
    UNAUTHORISED = "unauthorised"


@dataclass(frozen=True)
class Verdict:
    step: Step
    fates: list[Fate] = field(default_factory=list)
    """Aligned with the events sent; only for SETTLED."""
    wait_s: float = 0.0
    reason: str = ""
    reasons: dict[int, str] = field(default_factory=dict)
    """Position → why that event was refused."""
    ignored: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each value that the service left out of an event that it took."""


def judge(answer: Answer, count: int, as_array: bool, tuning: Tuning) -> Verdict:
    """The verdict over `count` events that were sent in one request."""
    status = answer.status
    if status == 200:
        return _accepted(answer, count, as_array)
    reason = f"HTTP {status}: {_problem(answer.body)}"
    if status == 401:
        return Verdict(Step.UNAUTHORISED, reason=reason)
    if status == 429:
        return Verdict(Step.WAIT, wait_s=retry_after(answer, tuning), reason=reason)
    if status >= 500 or status in (408, 425) or status < 300:
        # A 2xx that is not 200 is not the service's acknowledgement (a captive portal, a proxy).
        return Verdict(Step.RETRY, reason=reason)
    if status in (403, 404) or status < 400:
        return Verdict(Step.SETTLED, [Fate.SET_ASIDE] * count, reasons=dict.fromkeys(range(count), reason))
    if as_array and count > 1:
        return Verdict(Step.SPLIT, reason=reason)
    return Verdict(Step.SETTLED, [Fate.DROPPED] * count, reasons=dict.fromkeys(range(count), reason))


def retry_after(answer: Answer, tuning: Tuning) -> float:
    """Seconds to wait after a 429: default 30, at most 60 (specification §8)."""
    text = answer.headers.get("retry-after", "").strip()
    wait_s = tuning.retry_after_default_s
    if text:
        try:
            wait_s = float(text)
        except ValueError:
            from email.utils import parsedate_to_datetime  # dear to import, and rarely needed

            try:
                wait_s = parsedate_to_datetime(text).timestamp() - now_ms() / 1000
            except (ValueError, TypeError):
                wait_s = tuning.retry_after_default_s
    if not wait_s >= 0:  # negative, or NaN
        wait_s = 0.0
    return min(wait_s, tuning.retry_after_cap_s)


def _accepted(answer: Answer, count: int, as_array: bool) -> Verdict:
    try:
        document = json.loads(answer.body)
        results = document["results"] if as_array else [document]
        if len(results) != count:
            return Verdict(Step.RETRY, reason=f"{len(results)} results for {count} events")
        fates: list[Fate] = []
        reasons: dict[int, str] = {}
        ignored: list[tuple[str, str]] = []
        for position, result in enumerate(results):
            error = result.get("error")
            if error is None:
                int(result["db_id"])
                fates.append(Fate.DUPLICATE if result["deduplicated"] else Fate.ACCEPTED)
                ignored += [(str(one["key"]), str(one["reason"])) for one in result.get("ignored") or ()]
            else:
                fates.append(_item_fate(error))
                reasons[position] = f"{error.get('status')} {error.get('code')}: {_details(error)}"
        return Verdict(Step.SETTLED, fates, reasons=reasons, ignored=ignored)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # 200 without the service's acknowledgement is not an acknowledgement.
        return Verdict(Step.RETRY, reason=f"200 without a result that can be read ({type(error).__name__})")


def _item_fate(error: dict[str, Any]) -> Fate:
    status = error.get("status")
    if isinstance(status, int) and (status >= 500 or status in (408, 429)):
        return Fate.AGAIN
    if status in (401, 403, 404):
        return Fate.SET_ASIDE
    return Fate.DROPPED


def _problem(body: bytes) -> str:
    try:
        document = json.loads(body)
        code = document.get("code") or document.get("title") or "no code"
        return f"{code}: {_details(document)}"
    except (ValueError, AttributeError, TypeError):
        return body[:120].decode("utf-8", "replace").strip() or "no body"


def _details(problem: dict[str, Any]) -> str:
    text = str(problem.get("detail") or problem.get("title") or "")
    errors = problem.get("errors")
    if isinstance(errors, list):
        named = [f"{e.get('path')}: {e.get('message')}" for e in errors[:3] if isinstance(e, dict)]
        named = [name for name in named if name.split(":")[0] not in text]  # a detail often says them all
        if named:
            text = f"{text} ({'; '.join(named)})"
    return text
