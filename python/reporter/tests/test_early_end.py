"""Exceptions by which a tuner or early stopping ends a job: it is pruned, not failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest

Make = Callable[..., svc.Reporter]
QUIET: dict[str, Any] = {"environment": False, "console": False, "resources_s": 0, "stop_poll_s": 0, "quiet": True}


class TrialPruned(Exception):
    pass


class EarlyStopException(Exception):
    pass


class PrunedByMedian(TrialPruned):
    pass


@pytest.mark.parametrize("kind", [TrialPruned, PrunedByMedian, EarlyStopException])
def test_a_block_that_a_stop_of_the_tuner_leaves_is_a_pruned_job(
    make: Make, server: FakeIngest, kind: type[Exception]
) -> None:
    with make() as run:
        with pytest.raises(kind), run.job("trial") as job:
            job.epoch(0, loss=1.0)
            job.done({"best": 1.0})
            raise kind
        with pytest.raises(ZeroDivisionError), run.job("failed"):
            raise ZeroDivisionError
        caught = run.job("caught")
        caught.begin()
        caught.fail(kind())
    ends = {event["job_id"]: event for event in server.events if event["event_type"] in ("job_done", "job_failed")}
    assert {job: event["event_type"] for job, event in ends.items()} == {
        "trial": "job_done",
        "failed": "job_failed",
        "caught": "job_done",
    }
    assert ends["trial"]["data"]["pruned"] is ends["caught"]["data"]["pruned"] is True
    assert ends["trial"]["data"]["metrics"] == {"best": 1.0}
    assert (server.of("batch_done")[0]["data"]["n_done"], server.of("batch_done")[0]["data"]["n_failed"]) == (2, 1)


def test_a_run_for_each_trial_ends_as_done_with_a_pruned_job(server: FakeIngest) -> None:
    with pytest.raises(TrialPruned), svc.init("vision", url=server.url, token=server.token, **QUIET) as run:
        run.log({"loss": 1.0})
        run.summary["best"] = 2
        raise TrialPruned
    (done,) = server.of("job_done")
    assert done["data"]["pruned"] is True
    assert done["data"]["metrics"] == {"best": 2}
    assert server.types()[-1] == "batch_done"
