"""What a healthy service receives."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._delivery.validate import validate
from svc_reporter._shared.ids import EventIds

from .kit.fake_ingest import FakeIngest
from .kit.wait import until

Make = Callable[..., svc.Reporter]


def test_a_run_is_reported_from_start_to_end_in_order(make: Make, server: FakeIngest) -> None:
    with make(n_total=2, config={"lr": 0.1}, tags=["a", "b"], batch_id="b1") as run:
        for seed in range(2):
            with run.job(f"seed{seed}", model="resnet", dataset="cifar", width=4) as job:
                job.epoch(0, train_loss=0.5, val_loss=0.6, acc=0.7)
                job.log("lr dropped", level="WARNING")
                job.done(metrics={"acc": 0.7})
    job_events = ["job_start", "job_epoch", "log_line", "job_done"]
    assert server.types() == ["batch_start", *job_events, *job_events, "batch_done"]
    start, end = server.events[0], server.events[-1]
    assert start["batch_id"] == "b1"
    assert start["job_id"] is None
    assert start["data"]["n_total"] == 2
    assert start["data"]["config"] == {"lr": 0.1}
    assert start["data"]["tags"] == ["a", "b"]
    assert start["source"]["project"] == "vision"
    assert {"host", "user", "command"} <= set(start["source"])
    assert end["data"]["n_done"] == 2
    assert end["data"]["n_failed"] == 0
    job_start = server.of("job_start")[0]
    assert job_start["job_id"] == "seed0"
    assert job_start["data"] == {"model": "resnet", "dataset": "cifar", "width": 4}
    assert server.of("log_line")[0]["data"]["level"] == "warning"
    done = server.of("job_done")[0]["data"]
    assert done["metrics"] == {"acc": 0.7}
    assert done["train_epochs"] == 1
    assert all(not validate(event) for event in server.events)


def test_a_model_that_is_not_a_text_is_converted_to_one(make: Make, server: FakeIngest) -> None:
    with make(n_total=2) as run:
        run.job("nested", model={"name": "gpt2", "layers": 12}, dataset=["a", "b"]).done()
        run.job("number", model=7).done()
    nested, number = (event["data"] for event in server.of("job_start"))
    assert nested == {"model": '{"name": "gpt2", "layers": 12}', "dataset": '["a", "b"]'}
    assert number == {"model": "7"}


def test_the_last_event_carries_the_receipt(make: Make, server: FakeIngest) -> None:
    with make() as run:
        with run.job("a") as job:
            for epoch in range(50):
                job.epoch(epoch, train_loss=1.0)
    receipt = server.events[-1]["data"]["delivery"]
    assert {event["event_id"][-12:] for event in server.events} == {receipt.pop("sender")}
    assert receipt == {"produced": 54, "accepted": 53, "duplicate": 0, "spilled": 0, "dropped": 0, "rejected": 0}
    assert run.delivery.accepted == 54
    assert run.delivery["produced"] == 54
    assert dict(run.delivery) == {
        "produced": 54,
        "accepted": 54,
        "duplicate": 0,
        "spilled": 0,
        "dropped": 0,
        "rejected": 0,
    }
    assert run.delivery.complete


def test_fewer_than_20_pending_go_one_by_one_and_more_go_as_arrays_of_500(make: Make, server: FakeIngest) -> None:
    with make() as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
            assert run.flush(5)
            with server.lock:  # the server does not answer meanwhile, so all of these become pending
                for epoch in range(1, 1203):
                    job.epoch(epoch, train_loss=1.0)
            assert run.flush(10)
            with server.lock:
                for epoch in range(3):
                    job.epoch(2000 + epoch, train_loss=1.0)
    sizes = [count for path, count in server.requests if path == "/api/events/batch"]
    assert sizes
    assert max(sizes) == 500
    assert min(sizes) >= 20
    assert all(count == 1 for path, count in server.requests if path == "/api/events")
    assert len(server.of("job_epoch")) == 1206


def test_an_event_after_a_pause_is_sent_at_once_and_later_ones_wait_for_the_next_round(
    make: Make, server: FakeIngest, quick: Callable[..., None]
) -> None:
    quick(round_s=60.0)
    begin = time.monotonic()
    with make() as run:
        until(lambda: server.types() == ["batch_start"])
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
            time.sleep(0.3)
            assert server.types() == ["batch_start"]
            assert run.flush(30)
            assert server.types() == ["batch_start", "job_start", "job_epoch"]
            for epoch in range(1, 20):
                job.epoch(epoch, train_loss=1.0)
            time.sleep(0.3)
            assert len(server.of("job_epoch")) == 1
            job.epoch(20, train_loss=1.0)  # the twentieth that is pending makes them an array
            until(lambda: len(server.of("job_epoch")) == 21)
            assert ("/api/events/batch", 20) in server.requests
            job.epoch(21, train_loss=1.0)
    assert server.types()[-3:] == ["job_epoch", "job_done", "batch_done"]
    assert time.monotonic() - begin < 50


def test_arrays_that_are_not_full_keep_a_distance(make: Make, server: FakeIngest, quick: Callable[..., None]) -> None:
    quick(array_gap_s=60.0)
    with make() as run, run.job("a") as job:
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0)
            time.sleep(0.002)
        assert [path for path, _ in server.requests].count("/api/events/batch") <= 1
        assert len(server.of("job_epoch")) < 100
        assert run.flush(30)
        assert len(server.of("job_epoch")) == 100


def test_rounds_follow_each_other_without_anybody_waiting(make: Make, server: FakeIngest) -> None:
    with make() as run, run.job("a") as job:
        for epoch in range(3):
            job.epoch(epoch, train_loss=1.0)
        until(lambda: len(server.of("job_epoch")) == 3)


def test_events_waiting_for_the_disk_take_little_processor_time(
    make: Make, quick: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(away_round_s=60.0)
    monkeypatch.delenv("SVC_URL", raising=False)
    with make(url=None, token=None) as run, run.job("a") as job:
        for epoch in range(100):  # enough for an array, which is not sent
            job.epoch(epoch, train_loss=1.0)
        time.sleep(0.2)
        (worker,) = (thread for thread in threading.enumerate() if thread.name == "svc-reporter-worker")
        clock = time.pthread_getcpuclockid(worker.ident or 0)
        begin = time.clock_gettime(clock)
        time.sleep(0.5)
        assert time.clock_gettime(clock) - begin < 0.1
        assert run.delivery.pending > 0


def test_event_ids_are_time_ordered_uuids_of_version_7() -> None:
    ids = EventIds()
    made = [ids.make(1_700_000_000_000 + step // 5000) for step in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", i) for i in made)
    assert ids.mine(made[0])
    assert not EventIds().mine(made[0])


def test_nan_and_infinity_are_sent_as_words(make: Make, server: FakeIngest) -> None:
    with make() as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=math.nan, val_loss=math.inf, lr=-math.inf, acc=float("nan"), nested={"x": math.nan})
    data = server.of("job_epoch")[0]["data"]
    assert data["train_loss"] == "NaN"
    assert data["val_loss"] == "Infinity"
    assert data["lr"] == "-Infinity"
    assert data["acc"] == "NaN"
    assert data["nested"] == {"x": "NaN"}


class _Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__
    __float__ = __str__


class _Scalar:
    """Like a torch or NumPy scalar."""

    shape = ()

    def item(self) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (_Scalar(), 0.25),
        (10**400, "Infinity"),
        ({1: (2, {3})}, {"1": [2, [3]]}),
        ("nul\x00 and \ud800", "nul\ufffd and \ufffd"),
        (_Hostile(), "<_Hostile: not readable>"),
        (b"\xff", "b'\\xff'"),
    ],
)
def test_odd_values_are_sent_as_something_sensible(make: Make, server: FakeIngest, value: Any, expected: Any) -> None:
    with make() as run:
        with run.job("a", odd=value):
            pass
    assert server.of("job_start")[0]["data"]["odd"] == expected


def test_values_nested_without_end_are_cut(make: Make, server: FakeIngest) -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    with make() as run:
        with run.job("a", deep=deep):
            pass
    assert "<too deep>" in str(server.of("job_start")[0]["data"]["deep"])


@pytest.mark.parametrize(("given", "sent"), [(3, 3), (3.0, 3), (True, 1), (_Scalar(), None), ("x", None), (2.5, None)])
def test_only_an_epoch_that_is_not_an_integer_is_dropped(
    make: Make, server: FakeIngest, given: Any, sent: int | None
) -> None:
    with make() as run:
        with run.job("a") as job:
            job.epoch(given, train_loss=1.0)
            job.epoch(99, train_loss=1.0)
    epochs = [event["data"]["epoch"] for event in server.of("job_epoch")]
    assert epochs == ([99] if sent is None else [sent, 99])


def test_a_loss_that_is_not_a_number_drops_only_that_field(make: Make, server: FakeIngest) -> None:
    with make() as run:
        with run.job("a") as job:
            job.epoch(0, train_loss="0.5", val_loss="bad", lr=[1, 2], acc=0.9)
    assert server.of("job_epoch")[0]["data"] == {"epoch": 0, "train_loss": 0.5, "acc": 0.9}


def test_a_log_line_over_the_size_limit_is_cut_not_lost(make: Make, server: FakeIngest) -> None:
    with make(config={"big": "x" * 400_000, "small": 1}) as run:
        with run.job("a") as job:
            job.log("é" * 300_000)
    line = server.of("log_line")[0]["data"]["line"]
    assert line.startswith("é" * 60_000)
    assert line.endswith("more characters]")
    start = server.of("batch_start")[0]["data"]
    assert start["truncated"] == ["config.big"]
    assert start["config"] == {"small": 1}
    assert start["n_total"] == 1


def test_lines_logged_before_the_first_job_belong_to_it(make: Make, server: FakeIngest) -> None:
    with make() as run:
        run.log("loading data")
        with run.job("a"):
            run.log("inside")
        run.log("after")
    assert [(e["job_id"], e["data"]["line"]) for e in server.of("log_line")] == [
        ("a", "loading data"),
        ("a", "inside"),
        ("a", "after"),
    ]


def test_without_a_context_the_run_opens_at_first_use_and_close_ends_it(make: Make, server: FakeIngest) -> None:
    run = make()
    job = run.job("a", model="m")
    job.epoch(0, train_loss=1.0)
    job.done({"acc": 1})
    failing = run.job("b")
    failing.fail("diverged")
    run.close()
    run.close()
    run.log("too late")
    assert server.types() == [
        "batch_start",
        "job_start",
        "job_epoch",
        "job_done",
        "job_start",
        "job_failed",
        "batch_done",
    ]
    assert server.of("job_failed")[0]["data"]["reason"] == "diverged"
    assert server.of("batch_done")[0]["data"]["n_failed"] == 1


def test_an_exception_fails_job_and_batch_and_passes_through(make: Make, server: FakeIngest) -> None:
    with pytest.raises(ValueError, match="hf_abcdefghijkl"):
        with make() as run:
            with run.job("a"):
                raise ValueError("bad key hf_abcdefghijkl")
    failed = server.of("job_failed")[0]["data"]
    assert failed["reason"] == "ValueError: bad key ***"
    assert "Traceback" in failed["traceback"]
    assert "hf_abc" not in failed["traceback"]
    assert server.of("batch_failed")[0]["data"]["reason"] == "ValueError: bad key ***"


@pytest.mark.parametrize(("code", "last"), [(0, "batch_done"), (None, "batch_done"), (3, "batch_failed")])
def test_sys_exit_ends_the_batch_by_its_code(make: Make, server: FakeIngest, code: int | None, last: str) -> None:
    with pytest.raises(SystemExit):
        with make():
            raise SystemExit(code)
    assert server.types()[-1] == last


def test_an_event_that_does_not_fit_the_schema_is_dropped_before_posting(
    make: Make, server: FakeIngest, said: Callable[[], str]
) -> None:
    with make() as run:
        with run.job("a") as job:
            # The public calls check a step themselves and never build such an event.
            run.emit("job_epoch", job.id, {"epoch": 2**53, "train_loss": 1.0})
            job.epoch(2**53 - 1, train_loss=1.0)
    assert [event["data"]["epoch"] for event in server.of("job_epoch")] == [2**53 - 1]
    assert run.delivery.dropped == 1
    assert "data.epoch" in said()


def test_job_ids_that_the_service_would_refuse_are_mended(make: Make, server: FakeIngest) -> None:
    with make() as run:
        for name in ("", "a\nb", "x" * 200, "y" * 128):
            with run.job(name):
                pass
    ids = [event["job_id"] for event in server.of("job_start")]
    assert ids[:2] == ["job", "a_b"]
    assert len(ids[2]) == 128
    assert ids[3] == "y" * 128


def test_heartbeats_and_resource_samples_come_at_their_intervals(make: Make, server: FakeIngest) -> None:
    with make(heartbeat_s=0.05, resources_s=0.05) as run:
        until(lambda: any(e["data"].get("heartbeat") for e in server.of("resource_snapshot")))
        with run.job("a"):
            until(lambda: server.of("log_line") and any(e["job_id"] == "a" for e in server.of("resource_snapshot")))
    beat = server.of("log_line")[0]
    assert beat["job_id"] == "a"
    assert beat["data"]["line"] == "heartbeat"
    sample = next(e for e in server.of("resource_snapshot") if e["job_id"] == "a")["data"]
    assert {"ram_mb", "rss_mb", "disk_free_mb", "cpu_count"} <= set(sample)


def test_reports_of_another_thread_during_the_end_are_sent_before_the_end_or_not_at_all(
    make: Make, server: FakeIngest
) -> None:
    for _ in range(5):
        server.events.clear()
        done = threading.Event()
        run = make(close_timeout_s=60)

        def noise(run: svc.Reporter = run, done: threading.Event = done) -> None:
            while not done.is_set():
                run.log("noise")
                time.sleep(0.0005)

        with run, run.job("a"):
            threads = [threading.Thread(target=noise) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.05)
            ending = time.monotonic()
        assert time.monotonic() - ending < 20  # it does not wait for those who never fall silent
        done.set()
        for thread in threads:
            thread.join()
        assert server.events[-1]["event_type"] == "batch_done"
        assert server.events[-1]["data"]["delivery"]["produced"] == len(server.events)
