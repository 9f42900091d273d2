"""A dead server, and its return."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._delivery.breaker import Breaker
from svc_reporter._shared.tuning import Tuning

from .conftest import lines_of, spilled_in
from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import FaultProxy
from .kit.wait import until

Make = Callable[..., svc.Reporter]


def test_a_dead_server_costs_one_exhausted_retry_and_not_one_an_event(
    make: Make, proxy: FaultProxy, quick: Callable[..., None], spill: Path
) -> None:
    quick(backoff_s=(0.1, 0.3, 1.0), probe_first_s=10, probe_last_s=30)
    proxy.refuse()
    begin = time.monotonic()
    with make(url=proxy.url, batch_id="b") as run:
        with run.job("a") as job:
            for epoch in range(15):
                job.epoch(epoch, train_loss=1.0)
                time.sleep(0.01)
        run.flush(20)
        assert run.delivery.spilled == 18
        for epoch in range(15):
            run.log(str(epoch))
            run.flush(5)
    assert time.monotonic() - begin < 1.4 * 4
    assert len(lines_of(spill / "b.jsonl")) == 34


def test_when_the_server_is_back_the_spill_is_drained_in_order_before_live_events(
    make: Make, server: FakeIngest, proxy: FaultProxy, spill: Path
) -> None:
    with make(url=proxy.url, batch_id="b") as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
            assert run.flush(5)
            proxy.refuse()
            for epoch in range(1, 700):
                job.epoch(epoch, train_loss=1.0)
            until(lambda: run.delivery.spilled == 699)
            proxy.accept()
            until(lambda: run.delivery.spilled == 0)
            for epoch in range(700, 720):
                job.epoch(epoch, train_loss=1.0)
    assert sorted(event["data"]["epoch"] for event in server.of("job_epoch")) == list(range(720))
    assert run.delivery.complete
    assert spilled_in(spill) == []
    assert server.events[-1]["data"]["delivery"]["spilled"] == 0


def test_a_server_that_is_back_at_the_end_is_asked_once_more_by_close(
    make: Make, server: FakeIngest, proxy: FaultProxy, quick: Callable[..., None]
) -> None:
    quick(probe_first_s=20, probe_last_s=30)
    with make(url=proxy.url, batch_id="b") as run:
        proxy.refuse()
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
        until(lambda: run.delivery.spilled >= 3)
        proxy.accept()
    assert run.delivery.complete
    # Data may reach the disk before a start that waits for its turn: the service takes events in any order.
    assert sorted(server.types()) == ["batch_done", "batch_start", "job_done", "job_epoch", "job_start"]


def test_probes_are_10_to_30_s_apart() -> None:
    now = 0.0
    breaker = Breaker(Tuning(), now=lambda: now)
    assert not breaker.is_open
    waits = []
    for _ in range(8):
        breaker.trip()
        waits.append(breaker.until_probe_s())
        now += waits[-1]
        assert breaker.until_probe_s() == pytest.approx(0, abs=1e-9)
    assert all(10 - 1e-9 <= wait <= 30 + 1e-9 for wait in waits)
    assert waits[0] < 12
    assert waits[-1] > 26
    breaker.reset()
    assert not breaker.is_open


def test_without_an_address_all_events_are_stored_for_a_later_process(
    make: Make, server: FakeIngest, spill: Path, said: Callable[[], str]
) -> None:
    with svc.Reporter("vision", batch_id="offline") as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
    assert "SVC_URL and SVC_TOKEN are not set" in said()
    assert run.delivery.spilled == run.delivery.produced == 5
    with make(batch_id="later") as later:
        until(lambda: len(server.of("batch_done")) == 1)
        assert later.flush(5)
    assert [e["event_type"] for e in server.events if e["batch_id"] == "offline"] == [
        "batch_start",
        "job_start",
        "job_epoch",
        "job_done",
        "batch_done",
    ]
    assert spilled_in(spill) == []
