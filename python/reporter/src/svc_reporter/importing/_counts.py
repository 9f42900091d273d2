"""Counts of a history and of what the service stored of it, and their table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("runs", "config", "tags", "series", "points", "log lines", "media", "files")


@dataclass
class Counts:
    """Of one run, or of many together."""

    runs: int = 0
    config: int = 0
    tags: int = 0
    series: int = 0
    points: int = 0
    lines: int = 0
    media: int = 0
    files: int = 0

    def add(self, other: Counts) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def of_kinds(self) -> dict[str, int]:
        names = self.__dataclass_fields__
        return {kind: int(getattr(self, name)) for kind, name in zip(KINDS, names, strict=True)}


@dataclass
class Own:
    """What the writer added to a run beside its records."""

    series: int = 0
    points: int = 0
    media_files: int = 0


@dataclass
class Compared:
    """The result of an import."""

    theirs: Counts = field(default_factory=Counts)
    ours: Counts = field(default_factory=Counts)
    differing: list[str] = field(default_factory=list)
    """A line for each run whose counts differ."""
    differing_runs: int = 0
    unread: int = 0
    """Records that could not be read."""
    refused: int = 0
    known: int = 0
    """Runs that the service had already, with all of their points."""
    events: int = 0
    stopped: str = ""

    @property
    def is_whole(self) -> bool:
        return not (self.differing_runs or self.unread or self.refused or self.stopped)


def counts_of(stored: Mapping[str, Any], own: Own) -> Counts:
    """The counts of a run from the answer of the service, without what the writer added."""
    return Counts(
        runs=1,
        config=int(stored["config"]),
        tags=int(stored["tags"]),
        series=int(stored["series"]) - own.series,
        points=int(stored["points"]) - own.points,
        lines=int(stored["log_lines"]),
        media=int(stored["media"]),
        files=int(stored["files"]) - own.media_files,
    )


def difference(theirs: Counts, ours: Counts) -> str:
    """In words; empty if they are the same."""
    pairs = zip(theirs.of_kinds().items(), ours.of_kinds().values(), strict=True)
    return ", ".join(f"{kind} {one:,} / {other:,}" for (kind, one), other in pairs if one != other)


def table(theirs: Counts, ours: Counts | None) -> list[str]:
    """The lines of the table; without `ours` those of a dry run."""
    stored = {} if ours is None else ours.of_kinds()
    lines = [f"{'':<10}{'theirs':>12}" + (f"{'ours':>12}" if stored else "")]
    for kind, count in theirs.of_kinds().items():
        line = f"{kind:<10}{count:>12,}"
        if stored:
            line += f"{stored[kind]:>12,}" + ("" if stored[kind] == count else "  differs")
        lines.append(line)
    return lines
