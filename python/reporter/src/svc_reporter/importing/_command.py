"""`svc-reporter import-from SOURCE PATH`: reads a history, sends it, and compares the counts."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from .._delivery.settings import Settings, read_settings
from .._shared.cli_text import printable
from .._shared.tuning import DEFAULT
from ._channel import Channel, Halted
from ._counts import Compared, Own, counts_of, difference, table
from ._events import Progress
from ._records import RUNNING, Fault, Found, Idle, Record, Source, Wanted, batch_id, missing_library
from ._writer import Writer

_SHOWN = 20
_POLL_S = 1.0
"""Between two looks at what was added (`--follow`)."""
_FINAL = ("completed", "failed", "stopped")


def run_command(options: argparse.Namespace) -> int:
    """Returns the exit status: 0 if all is there, 1 if counts differ or something could not be read or sent."""
    wanted = Wanted(options.path, options.project, options.follow, options.step)
    try:
        settings = read_settings(options.url, options.token)
        done = import_history(options.source, wanted, settings, dry=options.dry_run, quiet=options.quiet)
    except (ValueError, OSError) as error:
        _complain(f"svc-reporter import-from: {error}")
        return 1
    except ImportError as error:
        _complain(f"svc-reporter import-from: {missing_library(options.source, error)}")
        return 1
    except KeyboardInterrupt:
        _complain("interrupted; run the same command again to send the rest")
        return 1
    _print_result(done, dry=options.dry_run)
    return 0 if done.is_whole else 1


def _complain(text: str) -> None:
    print(printable(text), file=sys.stderr)


def import_history(
    source: str,
    wanted: Wanted,
    settings: Settings,
    *,
    dry: bool = False,
    quiet: bool = False,
    screen: TextIO | None = None,
) -> Compared:
    """Raises ImportError without the source's library, ValueError and OSError for a wrong path or settings."""
    if wanted.follow and source != "tensorboard":
        raise ValueError("--follow reads event files of TensorBoard only")
    opened: Source = importlib.import_module(f"{__package__}._{source}").open_source(wanted)
    progress = Progress(1, None if quiet else screen or sys.stderr)
    channel: Channel | None = None
    try:
        channel = None if dry else Channel(settings, progress.fault)
        return _Import(source, opened, channel, progress, settings if channel else None).all()
    finally:
        progress.end()
        opened.close()
        if channel is not None:
            channel.close()


_pause = time.sleep


class _Import:
    def __init__(
        self, name: str, source: Source, channel: Channel | None, progress: Progress, settings: Settings | None
    ) -> None:
        self._known_own = Own()
        self._name = name
        self._source = source
        self._channel = channel
        self._progress = progress
        self._tuning = DEFAULT if settings is None else settings.tuning
        self._done = Compared()

    def all(self) -> Compared:
        done = self._done
        try:
            if self._source.follows:
                self._follow()
            else:
                for found in self._found():
                    self._run(found)
        except Halted as halted:
            done.stopped = str(halted)
        if self._channel is not None:
            done.events = self._channel.events
            done.refused = self._channel.files_refused
        return done

    def _found(self) -> Iterator[Found]:
        for found in self._source.runs():
            if isinstance(found, Fault):
                self._note_faults(found.where, [found], 1)
            else:
                yield found

    def _follow(self) -> None:
        """Read all runs in turns until Ctrl-C, or until each has ended."""
        open_runs: list[tuple[Found, Writer, Iterator[Record]]] = []
        ended: list[tuple[Found, Writer]] = []
        try:
            while open_runs or not ended:
                for found in self._found():
                    writer = Writer(found, batch_id(self._name, found), self._tuning, self._channel)
                    open_runs.append((found, writer, found.records()))
                for run in list(open_runs):
                    if not self._turn(*run):
                        open_runs.remove(run)
                        ended.append(run[:2])
                self._show()
                _pause(_POLL_S)
        except KeyboardInterrupt:
            self._progress.line("interrupted")
        for found, writer in [*ended, *((found, writer) for found, writer, _ in open_runs)]:
            writer.finish()
            self._settle(found, writer, writer.own)

    def _turn(self, found: Found, writer: Writer, records: Iterator[Record]) -> bool:
        """Take what a run has now. False if it has ended. Raises Halted."""
        try:
            for record in records:
                writer.one(record)
                if isinstance(record, Idle):
                    return True
        except (OSError, ValueError, TypeError) as error:
            writer.one(Fault("the rest of the run", f"{type(error).__name__}: {error}"))
        return False

    def _run(self, found: Found) -> None:
        own_id = batch_id(self._name, found)
        channel, done = self._channel, self._done
        before = None if channel is None else channel.stored(own_id)
        is_known = before is not None and self._is_known(found, own_id, before)
        writer = Writer(found, own_id, self._tuning, channel, points=not is_known)
        self._take(writer, found)
        done.known += is_known
        self._settle(found, writer, self._known_own if is_known else writer.own)

    def _settle(self, found: Found, writer: Writer, own: Own) -> None:
        """Compare what was read with what the service has now."""
        channel, done = self._channel, self._done
        self._note_faults(found.title or found.key, writer.faults, writer.unread)
        done.theirs.add(writer.counts)
        stored = None if channel is None else channel.stored(batch_id(self._name, found))
        if stored is not None:
            ours = counts_of(stored, own)
            done.ours.add(ours)
            self._compare(found, difference(writer.counts, ours))
        elif channel is not None:
            self._compare(found, "the service does not have the run")

    def _take(self, writer: Writer, found: Found) -> None:
        """Raises Halted."""
        try:
            for count, record in enumerate(found.records()):
                writer.one(record)
                if not count % 100:
                    self._show()
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
            writer.one(Fault("the rest of the run", f"{type(error).__name__}: {error}"))
        writer.finish()
        self._show()

    def _is_known(self, found: Found, own_id: str, before: dict[str, Any]) -> bool:
        """Whether an earlier import has brought all of this run: then its points are not sent again."""
        if before["status"].lower() not in _FINAL:
            return False
        reader = Writer(found, own_id, self._tuning, None)
        try:
            reader.take(found.records())
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
            return False
        theirs, ours = reader.counts, counts_of(before, reader.own)
        own_files = ours.files - theirs.files
        if reader.state in ("", RUNNING) or own_files < 0 or (own_files and not theirs.media):
            return False
        self._known_own = reader.own
        self._known_own.media_files = own_files
        ours.files = theirs.files
        return all(
            getattr(theirs, name) == getattr(ours, name) for name in ("series", "points", "lines", "media", "files")
        )

    def _compare(self, found: Found, differs: str) -> None:
        if differs:
            self._done.differing_runs += 1
            if len(self._done.differing) < _SHOWN:
                self._done.differing.append(f"{found.title or found.key}: {differs}")

    def _note_faults(self, title: str, faults: Sequence[Fault], count: int) -> None:
        self._done.unread += count
        for fault in faults:
            self._progress.fault(printable(f"{title}: {fault.where}: {fault.why}"))

    def _show(self) -> None:
        self._progress.set_total(self._source.total)
        events = self._channel.events if self._channel is not None else 0
        self._progress.show(self._source.read, events)


def _print_result(done: Compared, *, dry: bool, say: Callable[[str], None] = print) -> None:
    for line in table(done.theirs, None if dry else done.ours):
        say(line)
    if dry:
        say("dry run: nothing was sent")
    if done.known:
        say(f"runs that were there already: {done.known:,}")
    for line in done.differing:
        say(printable(f"differs (theirs / ours): {line}"))
    if done.differing_runs > len(done.differing):
        say(f"and {done.differing_runs - len(done.differing):,} more runs differ")
    if done.unread:
        say(f"records that could not be read or sent: {done.unread:,}")
    if done.refused:
        say(f"files that the service refused: {done.refused:,}")
    if done.stopped:
        _complain(f"stopped: {done.stopped}; run the same command again to send the rest")
