"""Every number of the client's behaviour, in one place (specification §7, §8)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Seconds, unless a name says otherwise. Users do not set these; tests make them short."""

    request_timeout_s: float = 10.0
    backoff_s: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Waits between the first attempt and each of three more; then the events are spilled."""
    retry_after_default_s: float = 30.0
    retry_after_cap_s: float = 60.0
    probe_first_s: float = 10.0
    """While the breaker is open: the first probe after this long, later ones up to probe_last_s apart."""
    probe_last_s: float = 30.0
    round_s: float = 0.05
    """Fewer events than make an array are sent at most this often; the first after a pause goes at once."""
    array_gap_s: float = 0.1
    """Arrays of fewer than array_limit events follow each other at this distance: a request costs the training time."""
    away_round_s: float = 0.25
    """While nothing can be sent, events go to disk in blocks at most this often."""
    array_threshold: int = 20
    array_limit: int = 500
    array_limit_bytes: int = 4 * 1024 * 1024
    """Half of the service's body limit of 8 MiB: a body also has brackets and commas."""
    event_limit_bytes: int = 256 * 1024
    final_probe_s: float = 2.0
    """close() with an open breaker asks the server once more for at most this long."""
    interrupt_s: float = 10.0
    """From seeing the stop flag to interrupting a training that made no call meanwhile."""
    interrupt_ranks_s: float = 4.0
    """The same under several ranks: the others end after this one, and all should within 20 s."""
    stuck_rank_s: float = 2.0
    """From that interruption to ending a rank whose main thread waits in a collective."""
    stuck_close_s: float = 2.0
    """How long such a rank sends its last events; the rest stays on disk."""
    counts_s: float = 30.0
    """How often a reporter that joined a batch sends its counts, where it reported anything meanwhile."""
    stop_check_s: float = 1.0
    """On SIGTERM: how long to check for a requested stop, which is then the reason of the end."""
    foreign_claim_stale_s: float = 3600.0
    """A claim of another host (shared home) that made no progress for this long counts as abandoned."""


DEFAULT = Tuning()
