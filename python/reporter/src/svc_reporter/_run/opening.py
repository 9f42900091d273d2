"""Creates the data of `batch_start`, and the record of the run on this machine."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._capture.snapshot import Snapshot
from .._delivery.settings import Rerun, Settings
from .._disk import run_record
from .._disk.spill import folders
from .._process import watchdog
from .._process.ranks import world_size
from .._shared.messages import Messages
from .._shared.process import ProcessIdentity, hostname
from .._version import __version__
from .batch import Batch


def start_data(run: Batch, snapshot: Snapshot, config: Any, tags: list[str], rerun: Rerun) -> dict[str, Any]:
    """The data of `batch_start` without `env_snapshot`: reading the state of git is slow (see `complete_start`)."""
    data: dict[str, Any] = {
        "experiment_type": run.experiment_type,
        "n_total": run.n_planned,
        "command": snapshot.command,
        "cwd": snapshot.cwd,
        "process": ProcessIdentity.own().as_data(),
        "client": {"name": "svc-reporter", "version": __version__, "python": sys.version.split()[0]},
    }
    data.update(run.start_extras)
    if config is not None:
        data["config"] = config
    if tags:
        data["tags"] = tags
    if rerun.of is not None:
        data["rerun_of"] = rerun.of
    if rerun.jobs is not None:
        data["rerun_jobs"] = sorted(rerun.jobs)
    if world_size() > 1:
        data["world_size"] = world_size()
    return data


def complete_start(
    run: Batch, data: dict[str, Any], snapshot: Snapshot, record: OwnRecord
) -> Callable[[], dict[str, Any]]:
    """Returns a function for the worker that adds the state of git to `start_data`.

    It also writes the record of the run, so that the record exists before the service can request a rerun.
    """

    def complete() -> dict[str, Any]:
        record.start(snapshot)
        return {**data, "env_snapshot": {**snapshot.data(), **run.environment_extras}}

    return complete


def prepare_thread_ends() -> None:
    """Load the library that glibc needs where Python ends a daemon thread at exit, or else aborts the process.

    Raises OSError if no file can be opened, because then nothing can be reported either.
    """
    os.close(os.open(os.devnull, os.O_RDONLY))
    try:
        import _ctypes

        _ctypes.dlopen("libgcc_s.so.1", 0x2)
    except (ImportError, AttributeError, OSError):
        return  # not needed: another system or C library


class OwnRecord:
    """The record of this process's run. Never raises: without a record, svc-agent only refuses to rerun the batch."""

    def __init__(self, project: str, batch_id: str, settings: Settings, messages: Messages) -> None:
        self._project = project
        self._batch_id = batch_id
        self._settings = settings
        self._messages = messages
        self._path: Path | None = None

    def start(self, snapshot: Snapshot) -> None:
        settings = self._settings
        try:
            other = run_record.other_process(folders(settings.folder), self._batch_id, hostname())
            if other is not None:
                self._messages.log_once(
                    logging.WARNING,
                    "other process",
                    f"process {other.pid} of this machine still reports batch {self._batch_id}. If both report a job, "
                    "the later start takes it over, and the first end ends the batch. Give this run another batch_id, "
                    "or set SVC_BATCH_ID instead and give init a name: that adds a job to the other's run",
                )
            self._path = run_record.write_started(
                folders(settings.folder),
                batch_id=self._batch_id,
                project=self._project,
                url=str(settings.target) if settings.target else None,
                host=hostname(),
                command=snapshot.command,
                cwd=snapshot.cwd,
            )
        except Exception as error:
            self._messages.log_once(
                logging.WARNING,
                "run record",
                f"the record of this run could not be written ({error}); svc-agent will not rerun it unless its "
                "owner enters the command on the page. Set SVC_REPORTER_DIR to a writable folder",
            )

    def end(self) -> None:
        try:
            if self._path is not None:
                run_record.write_ended(self._path)
        except Exception as error:
            self._messages.log_once(
                logging.WARNING, "run record end", f"the end of this run could not be written to its record: {error}"
            )


def watch(run: Batch, settings: Settings, start: dict[str, Any] | None) -> watchdog.WatchedRun | None:
    """Have the watchdog end this run if this process dies without closing it. Never raises.

    `start` is the result of `start_data`; None for a reporter that has joined a batch.
    """
    try:
        return watchdog.watch(
            {
                "batch_id": run.batch_id,
                "project": run.project,
                "host": hostname(),
                "url": str(settings.target) if settings.target else None,
                "token": settings.token,
                "folder": settings.folder,
                "joined": start is None,
                "trial": run.trial is not None,
                "keep": None if run.trial is None else run.trial.keeping(),
                "start": start,
            }
        )
    except Exception as error:
        run.messages.log_once(
            logging.WARNING,
            "watchdog",
            f"no watchdog could be started ({error}): should this process be killed, its run ends as lost, and later",
        )
        return None
