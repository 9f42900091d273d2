"""Timeouts, intervals and limits of the reporter (specification §7, §8)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """In seconds, unless the name says otherwise. Not for users; tests set shorter times."""

    request_timeout_s: float = 10.0
    backoff_s: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Waits between the first attempt and each of three more; then the events are spilled."""
    retry_after_default_s: float = 30.0
    retry_after_cap_s: float = 60.0
    probe_first_s: float = 10.0
    """While the breaker is open: the first probe after this long, later ones up to probe_last_s apart."""
    probe_last_s: float = 30.0
    refusals: int = 3
    """After so many answers 401 in a row, each a probe apart, the token is refused, and sending ends."""
    round_s: float = 0.05
    """Fewer events than an array has are sent at most this often; the first after a pause is sent at once."""
    array_gap_s: float = 0.1
    """Minimum time between arrays of fewer than array_limit events, because a request slows the training down."""
    away_round_s: float = 0.25
    """While the service cannot be reached, events are written to disk at most this often."""
    array_threshold: int = 20
    """From so many events on they are sent as an array."""
    array_limit: int = 500
    array_limit_bytes: int = 4 * 1024 * 1024
    """Half of the service's body limit of 8 MiB: a body also has brackets and commas."""
    event_limit_bytes: int = 256 * 1024
    final_probe_s: float = 2.0
    """Timeout of the last probe that close() sends while the circuit breaker is open."""
    interrupt_s: float = 10.0
    """Time from the stop flag to the interrupt of a training that has made no call of the reporter meanwhile."""
    interrupt_ranks_s: float = 4.0
    """The same with several ranks: the others end after this one, and all must end within 20 s."""
    stuck_rank_s: float = 2.0
    """Time from that interrupt to the end of a rank whose main thread waits in a collective operation."""
    stuck_close_s: float = 2.0
    """Time for such a rank to send its last events; the others stay on disk."""
    counts_s: float = 30.0
    """How often a reporter that joined a batch sends its delivery counts, if they have changed."""
    resume_s: float = 2.0
    """Timeout of the request about a batch that exists already, at its start and for lines without a job."""
    stop_check_s: float = 1.0
    """Timeout of the request that checks, on SIGTERM, whether a stop was requested."""
    foreign_claim_stale_s: float = 3600.0
    """A claim of another host (shared home folder) without progress for so long counts as abandoned."""


DEFAULT = Tuning()
