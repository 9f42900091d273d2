"""The delivery receipt: what became of every event this reporter produced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, replace


@dataclass(frozen=True)
class Delivery(Mapping[str, int]):
    """Counts of events. Readable both as `delivery.accepted` and `delivery["accepted"]`.

    produced   every event made by this reporter, with any outcome
    accepted   stored by the service
    duplicate  stored before: an earlier request arrived, but its response was lost
    spilled    on disk now, waiting for a replay
    dropped    rejected by the service for good, or lost because queue and disk were full
    rejected   rejected for a reason that a user can fix (token, rights, address); kept on disk in rejected/

    The difference between `produced` and the sum of the others is `pending`: not sent yet.
    """

    produced: int = 0
    accepted: int = 0
    duplicate: int = 0
    spilled: int = 0
    dropped: int = 0
    rejected: int = 0
    ignored_values: int = 0
    """Single values that the service did not store, of events that it stored. Not part of the sum."""
    files: int = 0
    """Images, files of `save` and files of artifacts; also those that were lost."""
    file_bytes: int = 0
    files_sent: int = 0
    """Files that the service has confirmed; the rest is on disk, or was lost."""
    file_bytes_sent: int = 0
    files_dropped: int = 0
    """Files that could not be encoded or stored, or that the service refused."""

    @property
    def pending(self) -> int:
        """Events without an outcome that are only in memory."""
        return self.produced - self.accepted - self.duplicate - self.spilled - self.dropped - self.rejected

    @property
    def complete(self) -> bool:
        """Whether the service has confirmed every event that was produced."""
        return self.produced == self.accepted + self.duplicate

    def with_files(self, counts: Mapping[str, int]) -> Delivery:
        return replace(
            self,
            files=counts["files"],
            file_bytes=counts["bytes"],
            files_sent=counts["sent"],
            file_bytes_sent=counts["sent_bytes"],
            files_dropped=counts["dropped"],
        )

    def as_data(self) -> dict[str, int]:
        return dict(zip(_KEYS, astuple(self), strict=False))

    def __getitem__(self, key: str) -> int:
        return self.as_data()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)


_KEYS = ("produced", "accepted", "duplicate", "spilled", "dropped", "rejected")


class Counts:
    """Counters behind a Delivery. Re-entrant, because a signal handler may interrupt an addition."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._values = dict.fromkeys(_KEYS[1:], 0)
        self.ignored = 0

    def add(self, **changes: int) -> None:
        with self._lock:
            for key, change in changes.items():
                self._values[key] += change

    def read(self, produced: int) -> Delivery:
        with self._lock:
            return Delivery(produced=produced, **self._values, ignored_values=self.ignored)
