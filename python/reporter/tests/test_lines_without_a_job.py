"""Log lines of a run that had no job when they were printed: no job is left without its start and end."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest

Make = Callable[..., svc.Reporter]


def _told(server: FakeIngest) -> list[tuple[str, str | None]]:
    """Job and kind of each event, without those of the whole run."""
    return [
        (event["event_type"], event["job_id"])
        for event in server.events
        if event["event_type"].startswith(("job_", "log_"))
    ]


def test_lines_before_a_job_that_is_reported_after_its_end_become_lines_of_it(make: Make, server: FakeIngest) -> None:
    now = time.time()
    with make() as run:
        run.log("[I] a new study was created")
        for number in range(2):
            run.job(f"trial-{number}").record_finished(now - 2, now - 1, [(0, {"value": 1.0})], {"value": 1.0})
            run.log(f"[I] trial {number} finished")
    assert {job for _, job in _told(server)} == {"trial-0", "trial-1"}
    assert [event["job_id"] for event in server.of("log_line")] == ["trial-0", "trial-0", "trial-1"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_that_only_prints_has_its_lines_in_its_own_job(server: FakeIngest, fails: bool) -> None:
    run = svc.init("vision", url=server.url, token=server.token, environment=False, resources_s=0, stop_poll_s=0)
    print("no metric was logged")
    run.finish(ValueError("no data") if fails else None)
    end = "job_failed" if fails else "job_done"
    assert _told(server) == [("job_start", "main"), ("log_line", "main"), (end, "main")]


def test_lines_of_a_batch_without_jobs_are_in_a_job_that_ends(make: Make, server: FakeIngest) -> None:
    with make() as run:
        run.log("nothing to do")
    assert _told(server) == [("job_start", "batch"), ("log_line", "batch"), ("job_done", "batch")]
