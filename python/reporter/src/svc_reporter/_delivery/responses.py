"""Maps a response of the ingest endpoints to the outcome of each event (the table of specification §7)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .._shared.ids import now_ms
from .._shared.tuning import Tuning
from .transport import Response

_OF_PROJECT = ("batch_project_mismatch", "project_exists", "quota_exceeded")
"""Every event of a run gets them, and all can be stored in another project, or once there is a place for a new one."""
_NAME_PROJECT = (*_OF_PROJECT, "project_forbidden", "unknown_project")
NOT_FROM_SERVICE = "not from the service"
"""In the reason for a response of a proxy, a sign-in page or another server."""


class Outcome(Enum):
    """The result of sending one event. The values are the words that `svc-reporter sync` and `import` print."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    DROPPED = "dropped"
    """Rejected by the service for good; not sent again."""
    REJECTED = "set aside"
    """Rejected for a reason that a user can fix (token, rights, project, a proxy's limit); kept in rejected/."""
    RETRY = "retry"
    """The service could not store this event now; send it again."""


class Step(Enum):
    """What to do after a request."""

    SETTLED = "settled"
    """Every event has an outcome."""
    RETRY = "retry"
    WAIT = "wait"
    """Rate limit (429): wait, then send the same request again."""
    SPLIT = "split"
    """The service rejected a whole array: send its halves, to find the event that it rejects."""
    UNAUTHORISED = "unauthorised"


@dataclass(frozen=True)
class Interpretation:
    step: Step
    outcomes: list[Outcome] = field(default_factory=list)
    """One for each event sent, in the same order; only for SETTLED."""
    wait_s: float = 0.0
    reason: str = ""
    reasons: dict[int, str] = field(default_factory=dict)
    """By position in the request: why that event was rejected."""
    ignored: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each value that the service did not store, of events that it stored."""
    deleted: int | None = None
    """Position of the first event whose batch is in the trash."""


def interpret(response: Response, count: int, as_array: bool, tuning: Tuning) -> Interpretation:
    """What to do after this response to a request of `count` events. Never raises."""
    status = response.status
    if status == 200:
        return _accepted(response, count, as_array)
    reason = reason_of(response)
    if status == 429:
        return Interpretation(Step.WAIT, wait_s=retry_after(response, tuning), reason=reason)
    ours = is_of_service(response.body)
    if status >= 500 or status in (408, 425) or status < 400 or (status in (401, 403, 404) and not ours):
        # Only 200 is an acknowledgement of the service, and it redirects no event. Each of its refusals is JSON with a
        # code. Anything else comes from a proxy or a captive portal, and says as little of the service as an outage.
        return Interpretation(Step.RETRY, reason=reason)
    if status == 401:
        return Interpretation(Step.UNAUTHORISED, reason=reason)
    if status in (403, 404) or _is_of_project(status, response.body):
        return Interpretation(Step.SETTLED, [Outcome.REJECTED] * count, reasons=dict.fromkeys(range(count), reason))
    if as_array and count > 1:
        return Interpretation(Step.SPLIT, reason=reason)
    # Specification §7: dropped after 415 and 422. After another status, a proxy's settings can be fixed.
    final = status in (415, 422) or ours
    outcome = Outcome.DROPPED if final else Outcome.REJECTED
    return Interpretation(Step.SETTLED, [outcome] * count, reasons=dict.fromkeys(range(count), reason))


def reason_of(response: Response) -> str:
    """Why a response is no success: the service's words, or what another server says and where it redirects to."""
    reason = f"HTTP {response.status}: {_problem(response.body)}"
    location = response.headers.get("location")
    if not 300 <= response.status < 400 or not location:
        return reason
    for path in ("/api/events/batch", "/api/events", "/livez"):
        if location.endswith(path) and "://" in location:
            return f"{reason}. SVC_URL redirects: set it to {location[: -len(path)]}"
    return f"{reason}. SVC_URL redirects to {location[:200]}"


def retry_after(response: Response, tuning: Tuning) -> float:
    """Seconds to wait after a 429, from its Retry-After header: default 30, at most 60 (specification §8)."""
    text = response.headers.get("retry-after", "").strip()
    wait_s = tuning.retry_after_default_s
    if text:
        try:
            wait_s = float(text)
        except ValueError:
            from email.utils import parsedate_to_datetime  # slow to import, rarely needed

            try:
                wait_s = parsedate_to_datetime(text).timestamp() - now_ms() / 1000
            except (ValueError, TypeError):
                wait_s = tuning.retry_after_default_s
    if not wait_s >= 0:  # negative, or NaN
        wait_s = 0.0
    return min(wait_s, tuning.retry_after_cap_s)


def _accepted(response: Response, count: int, as_array: bool) -> Interpretation:
    try:
        document = json.loads(response.body)
        results = document["results"] if as_array else [document]
        if len(results) != count:
            return Interpretation(Step.RETRY, reason=f"{len(results)} results for {count} events")
        outcomes: list[Outcome] = []
        reasons: dict[int, str] = {}
        ignored: list[tuple[str, str]] = []
        deleted: int | None = None
        for position, result in enumerate(results):
            error = result.get("error")
            if error is None:
                int(result["db_id"])
                outcomes.append(Outcome.DUPLICATE if result["deduplicated"] else Outcome.ACCEPTED)
                ignored += [(str(one["key"]), str(one["reason"])) for one in result.get("ignored") or ()]
                if deleted is None and result.get("deleted") is True:
                    deleted = position
            else:
                outcomes.append(_item_outcome(error))
                reasons[position] = f"{error.get('status')} {error.get('code')}: {_details(error)}"
        return Interpretation(Step.SETTLED, outcomes, reasons=reasons, ignored=ignored, deleted=deleted)
    except (ValueError, KeyError, TypeError, AttributeError):
        # Without a valid body, the 200 does not come from the service (a captive portal, a proxy).
        return Interpretation(Step.RETRY, reason=f"HTTP 200: {NOT_FROM_SERVICE}: {text_of(response.body)}")


def _item_outcome(error: dict[str, Any]) -> Outcome:
    status = error.get("status")
    if isinstance(status, int) and (status >= 500 or status in (408, 429)):
        return Outcome.RETRY
    if status in (401, 403, 404) or error.get("code") in _OF_PROJECT:
        return Outcome.REJECTED
    return Outcome.DROPPED


def is_of_service(body: bytes) -> bool:
    """Whether a refusal comes from the service, not from a proxy in front of it."""
    try:
        return isinstance(json.loads(body)["code"], str)
    except (ValueError, KeyError, TypeError):
        return False


def _is_of_project(status: int, body: bytes) -> bool:
    return status == 409 and is_of_service(body) and json.loads(body)["code"] in _OF_PROJECT


def _problem(body: bytes) -> str:
    try:
        document = json.loads(body)
        code = document.get("code") or document.get("title") or "no code"
        return f"{code}: {_details(document)}"
    except (ValueError, AttributeError, TypeError):
        return f"{NOT_FROM_SERVICE}: {text_of(body)}"


def concerns_project(reason: str) -> bool:
    """Whether events that were refused for this reason can be stored in another project."""
    return any(code in reason for code in _NAME_PROJECT)


def text_of(body: bytes) -> str:
    """The beginning of a body that is not the service's: the text of a proxy's HTML page on one line."""
    text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", body[:4_000].decode("utf-8", "replace"), flags=re.S | re.I)
    return " ".join(text.split())[:120] or "no body"


def _details(problem: dict[str, Any]) -> str:
    text = str(problem.get("detail") or problem.get("title") or "")
    errors = problem.get("errors")
    if isinstance(errors, list):
        named = [f"{e.get('path')}: {e.get('message')}" for e in errors[:3] if isinstance(e, dict)]
        named = [name for name in named if name.split(":")[0] not in text]  # the detail often contains them already
        if named:
            text = f"{text} ({'; '.join(named)})"
    return text
