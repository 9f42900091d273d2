"""What the service knows of a batch that this process continues or joins: its project, and how far its jobs are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import quote

from ._transport import Transport, Unreachable


@dataclass(frozen=True)
class ResumePoint:
    project: str | None = None
    """None if the service does not know the batch."""
    newest_job: str | None = None
    last_steps: dict[str, int] = field(default_factory=dict)
    """By job id, of jobs with steps."""


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
