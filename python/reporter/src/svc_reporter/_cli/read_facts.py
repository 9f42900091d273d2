"""What the command line shows of runs and jobs, under flat names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._shared.cli_text import number
from ..query._values import flattened


def status_of(run: Mapping[str, Any]) -> str:
    return f"{run.get('status')}{' (stalled)' if run.get('stalled') else ''}"


def jobs_of(run: Mapping[str, Any]) -> str:
    total = run.get("n_total")
    failed = f", {run['n_failed']} failed" if run.get("n_failed") else ""
    return f"{run.get('n_done')}{'' if total is None else f'/{total}'}{failed}"


def job_row(job: Mapping[str, Any]) -> dict[str, Any]:
    values = [f"{name}={number(value)}" for name, value in (job.get("latest") or {}).items() if name != "epoch"]
    return {
        "JOB": job["id"],
        "STATUS": job["status"],
        "MODEL": job["model"],
        "EPOCHS": job["epochs"],
        "SECONDS": number(job["elapsed_s"]),
        "LAST": " ".join(values[:4]),
    }


def run_facts(run: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "name", "project", "started_at", "ended_at", "host", "commit", "command", "group", "failure_reason")
    facts = {name: run.get(name) for name in names}
    facts["status"] = status_of(run)
    facts["seconds"] = number(run.get("elapsed_s"))
    facts["jobs"] = jobs_of(run)
    facts["tags"] = ", ".join(run.get("tags") or ())
    facts["notes"] = run.get("notes")
    facts.update(flattened(run.get("config") or {}, "config."))
    facts.update({name: number(value) for name, value in flattened(run.get("summary") or {}, "summary.")})
    return facts


def job_facts(job: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "batch_id", "status", "model", "dataset", "started_at", "ended_at", "epochs", "failure_reason")
    facts = {name: job.get(name) for name in names}
    facts["seconds"] = number(job.get("elapsed_s"))
    facts.update(flattened(job.get("params") or {}, "param."))
    for prefix, name in (("last.", "latest"), ("best.", "best"), ("final.", "metrics")):
        facts.update({key: number(value) for key, value in flattened(job.get(name) or {}, prefix)})
    return facts
