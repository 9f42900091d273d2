"""The records that every source yields, and the base of the sources."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .._capture.media import Media

RUNNING, FINISHED, FAILED, STOPPED = "running", "finished", "failed", "stopped"
_NO_PROJECT = re.compile(r"[^\w.-]+|_(?=_)")


class Facts(NamedTuple):
    """What is known of the run itself; a later record adds to an earlier one."""

    values: Mapping[str, Any]
    """Of `FACTS`. `config` and `summary` are merged, others replaced."""


FACTS = ("name", "group", "notes", "tags", "config", "summary", "host", "user", "command", "commit", "type")


class Row(NamedTuple):
    """Numbers of one step. `ms` is Unix time in milliseconds."""

    step: int
    ms: int
    values: dict[str, Any]
    added: bool = False
    """Not of the history: what the source derived from it, such as the steps of a numbered series."""


class Shown(NamedTuple):
    """An image, table or the like, or a list of them."""

    name: str
    step: int
    ms: int
    value: Media | list[Media]


class Line(NamedTuple):
    """A line of the log."""

    ms: int
    text: str
    level: str = "info"
    stream: str | None = None


class Sample(NamedTuple):
    """A sample of the machine's use; `values` are fields of `resource_snapshot`."""

    ms: int
    values: dict[str, Any]


class File(NamedTuple):
    path: str
    content: Path | bytes
    media_type: str | None = None


class Version(NamedTuple):
    """A version of an artifact."""

    name: str
    kind: str
    files: Sequence[tuple[str, Path]]
    aliases: Sequence[str]
    metadata: Mapping[str, Any]


class End(NamedTuple):
    ms: int
    state: str
    reason: str | None = None


class Idle(NamedTuple):
    """Nothing more is there for now (`follows`): send what there is."""


class Fault(NamedTuple):
    """A record that cannot be read. It costs itself, nothing else."""

    where: str
    why: str


Record = Facts | Row | Shown | Line | Sample | File | Version | End | Idle | Fault


@dataclass
class Found:
    """A run of a source."""

    key: str
    """The source's own id of the run, which never changes."""
    project: str
    start_ms: int
    records: Callable[[], Iterator[Record]]
    """Reads the run from its start; may be called again."""
    step_unit: str = "step"
    title: str = ""
    """For messages."""


class Source:
    """Base of the sources. Raises ImportError without its library, OSError and ValueError for a wrong path."""

    name = ""
    total = 0
    """How much there is to read, in bytes or runs; for the progress bar."""
    read = 0
    follows = False
    """Whether it waits for more at the end of a run that goes on."""

    def runs(self) -> Iterator[Found | Fault]:
        raise NotImplementedError

    def close(self) -> None:
        """Called at the end, also after an error."""


@dataclass(frozen=True)
class Wanted:
    """The words of the command."""

    path: str
    project: str | None = None
    follow: bool = False
    step: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def project_name(text: str, fallback: str = "imported") -> str:
    """A project that the service accepts: letters, digits, `.`, `_` and `-`, at most 128."""
    kept = _NO_PROJECT.sub("-", unicodedata.normalize("NFKC", text)).strip("-")[:128]
    return kept if kept.strip(".-_") else fallback


def batch_id(source: str, found: Found) -> str:
    """The id of a run here: the same for each import into the same project, another one in another project."""
    own = re.sub(r"[^A-Za-z0-9._-]+", "-", found.key).strip("-")[:80] or "run"
    digest = hashlib.sha256(f"{found.project}\0{found.key}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{source}-{own}-{digest}"


def missing_library(source: str, error: ImportError) -> str:
    return (
        f"{source} histories need {error.name or error}: install it with "
        f"`pip install svc-reporter[{source}]` from where you have the reporter"
    )
