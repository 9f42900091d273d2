"""Under every fault, each event is stored by the service, on disk, or counted as dropped; and the receipt is true."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc

from .conftest import lines_of
from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import (
    CUT_ANSWER,
    DROP_ANSWER_AFTER_COMMIT,
    HANG,
    PASS,
    RESET_MID_BODY,
    FaultProxy,
    delay,
    status,
)
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

Make = Callable[..., svc.Reporter]
FAULTS = [
    PASS,
    PASS,
    RESET_MID_BODY,
    DROP_ANSWER_AFTER_COMMIT,
    CUT_ANSWER,
    HANG,
    delay(0.15),
    status(503),
    status(429, Retry_After="0"),
    status(429, Retry_After="9"),
]


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 25))])
def test_no_event_is_lost_or_miscounted_under_random_faults_and_a_sudden_close(
    server: FakeIngest, proxy: FaultProxy, spill: Path, quick: Callable[..., None], seed: int
) -> None:
    quick(probe_first_s=0.05, probe_last_s=0.1, request_timeout_s=0.3)
    chance = random.Random(seed)
    run = svc.Reporter(
        "vision",
        batch_id="b",
        url=proxy.url,
        token=server.token,
        stop_poll_s=0,
        resources_s=0,
        heartbeat_s=0,
        queue_size=chance.choice([50, 400, 10_000]),
    )

    def weather() -> None:
        while not done.wait(chance.uniform(0.01, 0.08)):
            proxy.script.extend(chance.choices(FAULTS, k=2))
            if chance.random() < 0.15:
                proxy.refuse()
                time.sleep(chance.uniform(0, 0.2))
                proxy.accept()

    done = threading.Event()
    storm = threading.Thread(target=weather)
    storm.start()
    with run.job("a") as job:
        for epoch in range(chance.choice([30, 300, 3000])):
            job.epoch(epoch, train_loss=1.0)
            if epoch % chance.choice([3, 100]) == 0:
                time.sleep(0.002)
    begin = time.monotonic()
    timeout_s = chance.choice([0.0, 0.05, 0.3, 2.0])
    run.close(timeout_s)
    assert time.monotonic() - begin <= timeout_s + 1.5
    done.set()
    storm.join()
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("svc-reporter")])
    time.sleep(0.3)  # requests still under way at the server
    delivery = run.delivery
    assert delivery.accepted + delivery.duplicate + delivery.spilled + delivery.dropped == delivery.produced
    files = [path for path in spill.glob("b.*") if path.suffix != ".offset"]
    on_disk = {line["event_id"] for path in files for line in lines_of(path)}
    known = set(server.ids) | on_disk
    assert len(known) == delivery.produced - delivery.dropped
    proxy.accept()
    with svc.Reporter("vision", url=server.url, token=server.token, stop_poll_s=0, resources_s=0):
        pass
    mine = [event for event in server.events if event["batch_id"] == "b"]
    assert len(mine) == delivery.produced - delivery.dropped
    assert {event["event_id"] for event in mine} == known


def test_data_that_cannot_become_an_event_is_counted_as_lost_and_logged(
    make: Make, server: FakeIngest, capsys: pytest.CaptureFixture[str]
) -> None:
    """A receipt that called the run complete would lie: the training reported more than it has."""
    with make() as run:
        for n in range(1_003):
            run.log(f"line {n}")  # a line needs a job: so many wait for the first one
        with run.job("a") as job:
            job.epoch("three", train_loss=1.0)  # type: ignore[call-overload]
            job.epoch(2.5, train_loss=1.0)  # type: ignore[call-overload]
            job.epoch(3, train_loss=1.0)
    assert [event["data"]["epoch"] for event in server.of("job_epoch")] == [3]
    assert len(server.of("log_line")) == 1_000
    receipt = server.of("batch_done")[0]["data"]["delivery"]
    assert (receipt["produced"], receipt["dropped"]) == (1_000 + 3 + 3 + 4, 5)
    assert not run.delivery.complete
    assert run.delivery.pending == 0
    assert "is incomplete: 5 of 1,010 events are lost" in capsys.readouterr().err
