"""A training that outruns the service, and a disk that fills: nothing is lost, and the end waits behind no data."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._disk import spill as _spill
from svc_reporter._disk.spill import SpillFolder

from .conftest import spilled_in
from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.wait import until

Make = Callable[..., svc.Reporter]

LOOP = """
import resource
with svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                  resources_s=0, heartbeat_s=0, close_timeout_s=1.5) as run:
    with run.job("a") as job:
        for epoch in range(100_000):
            job.epoch(epoch, train_loss=1.0)
# ru_maxrss survives exec: it would show the peak of the process that started this one.
try:
    with open("/proc/self/status") as status:
        peak_kb = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
except OSError:
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak_kb // 1024, *run.delivery.as_data().values())
"""


@pytest.mark.slow
def test_a_tight_loop_loses_nothing_uses_little_memory_and_sends_its_end_before_its_data(
    server: FakeIngest, spill: Path
) -> None:
    out, err = process.run(LOOP, {"URL": server.url}, timeout_s=120)
    peak_mb, produced, accepted, duplicate, spilled, dropped, rejected = map(int, out.split())
    assert peak_mb < 200
    assert (produced, dropped, rejected) == (100_004, 0, 0)
    assert accepted + duplicate + spilled == produced
    assert spilled > 0
    assert "lost" not in err
    end = server.of("batch_done")[0]["data"]["delivery"]
    assert end["produced"] == produced
    assert len(server.events) < produced  # so the service knows how many are still to come
    with svc.Reporter("vision", url=server.url, token=server.token, stop_poll_s=0, resources_s=0):
        until(lambda: len(server.of("job_epoch")) == 100_000, 120)
    assert spilled_in(spill) == []


def test_offline_events_are_written_in_blocks(spill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    append = _spill.SpillFolder._append

    def count(self: _spill.SpillFolder, path: Path, lines: list[bytes]) -> int:
        writes.append(len(lines))
        return append(self, path, lines)

    monkeypatch.setattr(_spill.SpillFolder, "_append", count)
    with svc.Reporter("vision", batch_id="b", stop_poll_s=0, resources_s=0) as run, run.job("a") as job:
        for epoch in range(300):
            job.epoch(epoch, train_loss=1.0)
            time.sleep(0.001)
    assert sum(writes) == 304
    assert len(writes) < 30


class _Disk:
    def __init__(self, total: int, free: int) -> None:
        self.f_frsize, self.f_blocks, self.f_bavail = 1, total, free


@pytest.mark.parametrize(("total", "free"), [(1 << 30, 50 << 20), (1 << 40, 1 << 30)])
def test_the_last_free_space_of_a_disk_is_left_to_others_but_an_end_is_still_written(
    spill: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int
) -> None:
    folder = _spill.SpillFolder([spill])
    monkeypatch.setattr(os, "statvfs", lambda _path: _Disk(total, free))
    with pytest.raises(OSError, match="left free on this disk"):
        folder.append("b", [b"{}"])
    assert folder.append("b", [b"{}"], use_reserve=True)[0] == 1
    monkeypatch.setattr(os, "statvfs", lambda _path: _Disk(total, free + (64 << 20)))
    assert folder.append("b", [b"{}"])[0] == 1


def test_starts_and_ends_are_sent_while_an_array_waits_for_its_turn_and_at_close(
    make: Make, server: FakeIngest
) -> None:
    server.answer = lambda _path, count: (429, {"Retry-After": "30"}) if count > 20 else None
    run = make(batch_id="b", close_timeout_s=2)
    first, second = run.job("a"), run.job("z")
    first.begin()
    second.begin()
    run.flush(5)
    for epoch in range(200):
        first.epoch(epoch, train_loss=1.0)
    until(lambda: any(count > 20 for _, count in server.requests))
    second.done()
    until(lambda: "job_done" in server.types(), 10)
    assert server.of("job_epoch") == []
    run.close()
    assert server.events[-1]["event_type"] == "batch_done"
    assert server.events[-1]["data"]["delivery"]["produced"] == run.delivery.produced == 206
    assert run.delivery.spilled == 200


def _full(*_: object, **__: object) -> tuple[int, Path]:
    raise OSError(28, "No space left on device")


def test_events_that_a_full_disk_does_not_take_are_sent_once_the_service_answers(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()

    def answer_late(_path: str, _count: int) -> None:
        answers.wait(30)

    with make(batch_id="b") as run, run.job("a") as job:
        assert run.flush(10)
        monkeypatch.setattr(SpillFolder, "append", _full)
        server.answer = answer_late
        pipeline = run._pipeline
        assert pipeline is not None
        spillover = pipeline._queue.spillover
        epoch = 0
        while not spillover:  # written to disk because a request takes long
            job.epoch(epoch, train_loss=1.0)
            epoch += 1
            time.sleep(0.01)
        answers.set()
        until(lambda: run.delivery.complete, 20)
    assert len(server.of("job_epoch")) == epoch
    assert run.delivery.complete


def test_the_end_of_a_run_has_the_room_that_data_leave_free(
    make: Make, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Callable[..., int] = SpillFolder._append
    room = 3  # lines, in the reserve

    def nearly_full(folder: SpillFolder, path: Path, lines: list[bytes]) -> int:
        nonlocal room
        written = whole(folder, path, lines[:room])
        room -= written
        return written

    with make(url="http://127.0.0.1:9", batch_id="b", close_timeout_s=1) as run:
        until(lambda: run.delivery.spilled == 1)
        monkeypatch.setattr("svc_reporter._disk.spill.leave_room", _full)
        monkeypatch.setattr(SpillFolder, "_append", nearly_full)
        for number in range(20):
            run.log(f"line {number}")
    types = [json.loads(line)["event_type"] for line in (spill / "b.jsonl").read_bytes().splitlines()]
    assert types[0] == "batch_start"
    assert types[-1] == "batch_done"
    assert run.delivery.dropped > 0


def test_a_loss_is_one_line_on_stderr_with_counts(spill: Path) -> None:
    body = """
import logging
logging.disable()
_spill = __import__("svc_reporter._disk.spill", fromlist=["spill"])
def full(*_): raise OSError(28, "No space left on device")
_spill.SpillFolder._append = full
with svc.Reporter("vision", batch_id="b", stop_poll_s=0, resources_s=0, close_timeout_s=1) as run:
    with run.job("a") as job:
        for epoch in range(100):
            job.epoch(epoch)
"""
    _, err = process.run(body, {})
    assert err == "svc: the record of batch b is incomplete: 104 of 104 events are lost\n"
