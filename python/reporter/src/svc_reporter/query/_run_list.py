"""The list of runs that `Api().runs()` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._runs import StoredRun


class Runs(Sequence["StoredRun"]):
    """The runs of a query, read page by page. They have a length, indexes and slices."""

    def __init__(self, found: Iterator[StoredRun]) -> None:
        self._left = found
        self._read: list[StoredRun] = []

    def __iter__(self) -> Iterator[StoredRun]:
        at = 0
        while self._has(at):
            yield self._read[at]
            at += 1

    def _has(self, at: int) -> bool:
        while len(self._read) <= at:
            one = next(self._left, None)
            if one is None:
                return False
            self._read.append(one)
        return True

    def _all(self) -> list[StoredRun]:
        self._read += self._left
        return self._read

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and at >= 0:
            if not self._has(at):
                raise IndexError("there are not so many runs")
            return self._read[at]
        return self._all()[at]

    def __repr__(self) -> str:
        return f"<Runs: {len(self._read)} read so far>"
