"""Every call of the query API after every other one, over one Api with pyarrow installed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import svc_reporter as svc
from svc_reporter.query import Api


def test_every_call_works_after_every_other(make: Callable[..., svc.Reporter], service: Any) -> None:
    with make() as run, run.job("a", lr=0.1) as job:
        for epoch in range(2_000):
            job.epoch(epoch, train_loss=1 / (epoch + 1), val_loss=2 / (epoch + 1))
        job.log("a line")
    api = Api(service.url, service.session)
    calls: dict[str, Callable[[], Any]] = {
        "batches": lambda: api.batches(project="frameworks", limit=5),
        "batch": lambda: api.batch(run.batch_id),
        "jobs": lambda: api.jobs(run.batch_id),
        "jobs_frame": lambda: api.jobs_frame(run.batch_id),
        "metrics_frame": lambda: api.metrics_frame(run.batch_id),
        "wide": lambda: api.metrics_frame(run.batch_id, wide=True),
        "keys": lambda: api.metrics_frame(run.batch_id, keys=["val_loss"]),
        "best": lambda: api.best("val_loss", project="frameworks") or (),
        "series": lambda: api.series(run.batch_id, "val_loss"),
        "resources": lambda: api.resources_frame(run.batch_id).columns,
        "logs": lambda: list(api.logs(run.batch_id)),
        "attempts": lambda: api.attempts(run.batch_id, "a"),
        "update": lambda: api.update(run.batch_id, notes="read"),
        "follow": lambda: list(api.follow(run.batch_id)),
    }
    for first, second in itertools.product(calls, repeat=2):
        assert len(calls[first]()) > 0, (first, second)
        assert len(calls[second]()) > 0, (first, second)
    assert len(api.metrics_frame(run.batch_id)) == 4_000
