"""The lines on stderr about a run: where its page is when it begins, and what was not sent when it ends."""

from __future__ import annotations

import sys

from .._delivery.delivery import Delivery
from .._delivery.settings import Settings

_BACKGROUND = "a process in the background"
_SYNC = "`svc-reporter sync`"
_SYNC_REJECTED = "`svc-reporter sync --rejected`"


def print_status(text: str) -> None:
    try:
        sys.stderr.write(f"svc: {text}\n")
        sys.stderr.flush()
    except Exception:
        return  # the terminal was closed


def print_start(title: str, settings: Settings, url: str | None) -> None:
    """Print the address of a run that begins, or why nothing is sent."""
    print_status(f"{title}: {settings.why_kept() if settings.complaints else url}")


def print_losses(batch_id: str, delivery: Delivery) -> None:
    """Print what the service lacks of a batch, if anything; the logging configuration may hide log messages."""
    found = [_lost(delivery)] if delivery.dropped else []
    if delivery.rejected:
        refused = f"{delivery.rejected:,} of {delivery.produced:,} events were refused and kept on disk"
        found.append(f"{refused} for {_SYNC_REJECTED}")
    if found:
        print_status(f"the record of batch {batch_id} is incomplete: {'; '.join(found)}")


def left_over(delivery: Delivery, files: int, *, has_service: bool, is_away: bool, sends_later: bool) -> str:
    """What of a run was lost, and what is on disk and who sends it; empty if the service has everything.

    `files` counts those on disk, and `sends_later` says whether the watchdog goes on.
    """
    found = [_lost(delivery)] if delivery.dropped else []
    kept = ((delivery.spilled + delivery.rejected, "event"), (files, "file"))
    left = " and ".join(f"{count:,} {what}{'s' if count > 1 else ''}" for count, what in kept if count)
    if left:
        who = f"the next run or {_SYNC}"
        if delivery.rejected:
            who = _SYNC_REJECTED
        elif not has_service:
            who = _SYNC
        elif sends_later:
            who = f"{_BACKGROUND}, {who}" if is_away else _BACKGROUND
        found.append(f"{left} left on disk for {who}")
    return "; ".join(found)


def _lost(delivery: Delivery) -> str:
    return f"{delivery.dropped:,} of {delivery.produced:,} events are lost"
