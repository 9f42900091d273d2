"""What the service knows of a batch that this process continues or joins: its project, and how far its jobs are.

Also `init(resume=)`: which run a script continues, and what becomes of it if there is none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .._delivery.transport import Transport, Unreachable
from .._disk.own_files import open_file, own_folder, read_file
from .._disk.spill import folders
from .._shared.plain import text_of
from .._shared.process import hostname
from .batch import Batch, ResumePoint

AUTO = ("auto", True)
"""Values of `resume` with which a script continues its last run of the same folder and project, if that failed."""
_FOLDER = "resume"


def ask(transport: Transport, batch_id: str) -> ResumePoint | None:
    """Ask the service once; None if it cannot say. Never raises."""
    try:
        response = transport.get(f"/api/batches/{quote(batch_id, safe='')}/resume-point")
        document = json.loads(response.body)
        if response.status == 404 and "code" in document:
            return ResumePoint()  # no such batch, or a service of an earlier release; without a code it is a proxy
        if response.status != 200:
            return None
        steps = {str(job["job_id"]): job["last_step"] for job in document["jobs"]}
        last_steps = {job: step for job, step in steps.items() if type(step) is int}
        return ResumePoint(str(document["project"]), document["newest_job"], last_steps)
    except (Unreachable, ValueError, KeyError, TypeError, AttributeError):
        return None
    finally:
        transport.close()


def resumed_id(wanted: Mapping[str, Any], reporter: Mapping[str, Any]) -> str | None:
    """The id of the run that `init` continues or names; None for a new one."""
    if reporter.get("batch_id"):
        return None  # it names the run already
    if wanted.get("id"):
        return text_of(wanted["id"])
    if wanted.get("resume") not in AUTO:
        return None
    try:
        return read_file(_remembered(os.environ.get("SVC_REPORTER_DIR"), text_of(wanted["project"])), 512).decode()
    except (OSError, ValueError):
        return None


def check(reporter: Batch, resume: object) -> None:
    """Ask whether the run exists where `resume` is `must` or `never`. Raises UsageError if it must not go on."""
    if resume not in ("must", "never") or not reporter.may_exist or reporter._disabled:
        return
    from ..errors import UsageError

    reporter.ask_resume_point()
    point = reporter.resume_point
    if point is None:
        reporter.messages.log_once(
            logging.WARNING, "resume", f"resume={resume!r}: the service could not say whether the run exists; it starts"
        )
    elif resume == "must" and point.project is None:
        raise UsageError(f"resume='must': run {reporter.batch_id} does not exist")
    elif resume == "never" and point.project is not None:
        raise UsageError(f"resume='never': run {reporter.batch_id} exists already; give another id")


def remember(reporter: Batch) -> None:
    """Keep the id of the run, for the next start with `resume="auto"`."""
    try:
        path = _remembered(reporter._settings.folder, reporter.project)
        own_folder(path.parent.parent, create=True)
        own_folder(path.parent, create=True)
        with open(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(reporter.batch_id.encode())
    except OSError as error:
        reporter.messages.log_once(
            logging.WARNING, "remember", f"the id of this run was not kept, so resume='auto' will not find it: {error}"
        )


def forget(reporter: Batch) -> None:
    """The run has ended without a failure: the next start is a new run."""
    try:
        _remembered(reporter._settings.folder, reporter.project).unlink(missing_ok=True)
    except OSError:
        return


def _remembered(folder: str | None, project: str) -> Path:
    where = "\0".join((hostname(), os.getcwd(), project))
    return folders(folder)[0] / _FOLDER / hashlib.sha256(where.encode("utf-8", "surrogatepass")).hexdigest()[:32]
