"""A full queue: everything goes to disk, nothing is lost while a disk takes it, and ends wait behind no data."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import svc_reporter as svc
from svc_reporter._delivery.delivery import Counts
from svc_reporter._delivery.queue import EventQueue

from .conftest import spilled_in
from .kit.fake_ingest import FakeIngest
from .kit.wait import until

Make = Callable[..., svc.Reporter]


def _types(queue: EventQueue) -> list[str]:
    return [event.event_type for event in queue.take(100)]


def test_on_a_full_disk_resource_samples_are_lost_before_log_lines_and_log_lines_before_metrics() -> None:
    counts = Counts()
    queue = EventQueue(4, counts)
    for kind in ("log_line", "resource_snapshot", "job_epoch", "log_line"):
        queue.put(kind, None, 0, {})
    assert queue.put("job_epoch", None, 0, {})
    assert len(queue.spillover) == 1  # while the disk takes events, none is lost
    queue.disk_is_full = True
    for _ in range(3):
        queue.put("job_epoch", None, 0, {})
    assert len(queue.spillover) == 4
    queue.put("job_epoch", None, 0, {})  # the sample goes
    queue.put("resource_snapshot", None, 0, {})  # is lost itself
    queue.put("job_epoch", None, 0, {})  # the older line goes
    queue.put("log_line", None, 0, {})  # the older line goes
    assert counts.read(0).dropped == 4
    assert _types(queue) == [*["job_epoch"] * 7, "log_line"]


def test_starts_and_ends_find_room_in_a_full_queue_and_on_a_full_disk_and_leave_first() -> None:
    queue = EventQueue(2, Counts())
    queue.disk_is_full = True
    for number in range(50):
        queue.put("job_epoch", "a", number, {})
    for kind in ("job_done", "job_start", "batch_failed"):
        queue.put(kind, None if kind == "batch_failed" else "a", 100, {})
    assert [event.event_type for event in queue.take(3)] == ["job_done", "job_start", "batch_failed"]


def test_when_all_fits_into_one_request_events_keep_their_order() -> None:
    queue = EventQueue(100, Counts())
    for kind in ("job_epoch", "job_done", "job_epoch"):
        queue.put(kind, "a", 0, {})
    assert [event.event_type for event in queue.take(3)] == ["job_epoch", "job_done", "job_epoch"]


def test_events_leave_the_queue_in_the_order_they_came() -> None:
    queue = EventQueue(100, Counts())
    kinds = ["batch_start", "log_line", "job_start", "resource_snapshot", "job_epoch", "log_line"]
    for kind in kinds:
        queue.put(kind, None, 0, {})
    assert _types(queue) == kinds


def test_no_metric_is_lost_when_the_training_is_faster_than_the_server(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    with make(queue_size=100, batch_id="b") as run:
        with run.job("a") as job:
            run.flush(5)
            with server.lock:  # the server stands still
                begin = time.monotonic()
                for epoch in range(5000):
                    job.epoch(epoch, train_loss=1.0)
                    job.log("line")
                    if epoch % 50 == 0:
                        time.sleep(0.005)  # a training does something between its epochs
                assert time.monotonic() - begin < 15
                until(lambda: run.delivery.spilled > 1000)
            until(lambda: run.delivery.spilled == 0)
    assert sorted(event["data"]["epoch"] for event in server.of("job_epoch")) == list(range(5000))
    assert run.delivery.complete
    assert len(server.of("log_line")) == 5000
    assert spilled_in(spill) == []


def test_many_threads_lose_no_event_and_no_count(make: Make, server: FakeIngest) -> None:
    def train(name: str) -> None:
        with run.job(name) as job:
            for epoch in range(200):
                job.epoch(epoch, train_loss=1.0)

    with make(n_total=8) as run:
        threads = [threading.Thread(target=train, args=(f"j{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert run.delivery.produced == run.delivery.accepted == 2 + 8 * 202
    assert server.of("batch_done")[0]["data"]["n_done"] == 8
    for n in range(8):
        mine = [event["data"]["epoch"] for event in server.of("job_epoch") if event["job_id"] == f"j{n}"]
        assert mine == list(range(200))
