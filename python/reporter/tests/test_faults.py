"""The status table of specification §7, and bad networks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._delivery.responses import interpret
from svc_reporter._delivery.transport import Response
from svc_reporter._shared.tuning import Tuning

from .conftest import lines_of, spilled_in
from .kit import process
from .kit.fake_ingest import Event, FakeIngest
from .kit.fault_proxy import (
    CUT_ANSWER,
    DROP_ANSWER_AFTER_COMMIT,
    HANG,
    PASS,
    RESET_MID_BODY,
    Fault,
    FaultProxy,
    delay,
    status,
)
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

Make = Callable[..., svc.Reporter]
Said = Callable[[], str]


def _epochs(server: FakeIngest) -> list[int]:
    return [event["data"]["epoch"] for event in server.of("job_epoch")]


@pytest.mark.parametrize(
    "faults",
    [
        [RESET_MID_BODY],
        [RESET_MID_BODY, status(503), status(500)],
        [CUT_ANSWER],
        [delay(0.2)],
        [status(502), CUT_ANSWER, RESET_MID_BODY],
        [status(204)],
        [status(429, Retry_After="0")] * 5,
    ],
    ids=lambda faults: "+".join(f"{fault.kind}{fault.status}" for fault in faults),
)
@pytest.mark.parametrize("count", [3, 40])
def test_passing_faults_cost_nothing(
    make: Make, server: FakeIngest, proxy: FaultProxy, faults: list[Fault], count: int
) -> None:
    with make(url=proxy.url) as run:
        run.flush(5)
        proxy.script.extend(faults)
        with run.job("a") as job:
            for epoch in range(count):
                job.epoch(epoch, train_loss=1.0)
    assert _epochs(server) == list(range(count))
    assert run.delivery.complete
    assert run.delivery.produced == count + 4


@pytest.mark.parametrize("count", [1, 60])
def test_an_answer_lost_after_the_commit_counts_as_duplicate(
    make: Make, server: FakeIngest, proxy: FaultProxy, count: int
) -> None:
    with make(url=proxy.url) as run:
        with run.job("a") as job:
            run.flush(5)
            with server.lock:
                for epoch in range(count):
                    job.epoch(epoch, train_loss=1.0)
                proxy.script.extend([DROP_ANSWER_AFTER_COMMIT])
    assert sorted(_epochs(server)) == list(range(count))
    assert run.delivery.duplicate >= 1
    assert run.delivery.complete
    assert server.events[-1]["data"]["delivery"]["duplicate"] == run.delivery.duplicate


def test_a_transient_fault_is_tried_after_100_300_and_1000_ms_and_then_spilled(
    make: Make, proxy: FaultProxy, quick: Callable[..., None], spill: Path
) -> None:
    quick(backoff_s=(0.1, 0.3, 1.0), probe_first_s=10, probe_last_s=30)
    proxy.always = status(500)
    run = make(url=proxy.url, batch_id="b")
    begin = time.monotonic()
    run.log("x")
    run.job("a").begin()
    until(lambda: proxy.posts == 4)
    took = time.monotonic() - begin
    assert 1.4 <= took < 6
    until(lambda: run.delivery.spilled >= 1)
    assert proxy.posts == 4
    proxy.always = Fault()
    run.close()


@pytest.mark.parametrize("count", [1, 60])
def test_an_invalid_token_is_logged_once_and_nothing_is_lost(
    make: Make, server: FakeIngest, spill: Path, said: Said, count: int
) -> None:
    run = make(batch_id="b", token="em_live_old")
    with run:
        with run.job("a") as job:
            for epoch in range(count):
                job.epoch(epoch, train_loss=1.0)
    assert server.events == []
    assert said().count("does not accept SVC_TOKEN") == 1
    assert said().count("svc-reporter sync --rejected") == 1
    kept = lines_of(spill / "rejected" / "b.jsonl")
    assert len(kept) == count + 4
    assert run.delivery.rejected == count + 4
    assert not (spill / "b.jsonl").exists()


def test_after_three_401_nothing_more_is_sent(make: Make, proxy: FaultProxy, spill: Path) -> None:
    with make(url=proxy.url, token="em_live_old", batch_id="b") as run:
        run.flush(5)
        assert run.delivery.rejected == 0
        with run.job("a") as job:
            for epoch in range(50):
                job.epoch(epoch, train_loss=1.0)
        until(lambda: run.delivery.rejected == run.delivery.produced)
        assert proxy.posts == 3
        run.log("more")
        run.flush(5)
        assert proxy.posts == 3
    assert len(lines_of(spill / "rejected" / "b.jsonl")) == run.delivery.rejected == run.delivery.produced
    assert not (spill / "b.jsonl").exists()


def test_after_one_401_the_service_is_asked_again_and_has_every_event(
    make: Make, server: FakeIngest, spill: Path, said: Said
) -> None:
    with make(batch_id="b") as run, run.job("a") as job:
        job.epoch(0, train_loss=1.0)
        assert run.flush(5)
        server.answer = lambda _path, _count: (401, {})
        for epoch in range(1, 50):
            job.epoch(epoch, train_loss=1.0)
        until(lambda: run.delivery.spilled > 0)
        server.answer = lambda _path, _count: None
        until(lambda: run.delivery.spilled == 0)
    assert _epochs(server) == list(range(50))
    assert run.delivery.complete
    assert spilled_in(spill) == []
    assert (said().count("does not accept SVC_TOKEN"), said().count("accepts SVC_TOKEN now")) == (1, 1)


@pytest.mark.parametrize("code", [403, 404])
def test_events_refused_for_a_reason_that_a_user_can_fix_are_counted_as_rejected_and_kept(
    make: Make, server: FakeIngest, spill: Path, said: Said, code: int
) -> None:
    server.answer = lambda _path, _count: (code, {})
    with make(batch_id="b") as run:
        pass
    assert [event["event_type"] for event in lines_of(spill / "rejected" / "b.jsonl")] == ["batch_start", "batch_done"]
    assert f"HTTP {code}" in said()
    assert (run.delivery.rejected, run.delivery.dropped) == (2, 0)


@pytest.mark.parametrize("code", [302, 401, 403, 404])
@pytest.mark.parametrize("count", [1, 60])
def test_what_a_proxy_answers_instead_of_the_service_is_an_outage(
    make: Make, server: FakeIngest, proxy: FaultProxy, spill: Path, said: Said, code: int, count: int
) -> None:
    proxy.always = status(code)
    with make(batch_id="b", url=proxy.url) as run, run.job("a") as job:
        for epoch in range(count):
            job.epoch(epoch, train_loss=1.0)
        until(lambda: run.delivery.spilled == run.delivery.produced)
        assert f"cannot be reached (HTTP {code}: not from the service" in said()
        assert "SVC_TOKEN" not in said()
        proxy.always = PASS
    assert _epochs(server) == list(range(count))
    assert run.delivery.complete
    assert spilled_in(spill) == []


@pytest.mark.parametrize("code", [400, 409, 413, 415, 422])
def test_events_refused_for_good_are_logged_and_dropped(
    make: Make, server: FakeIngest, spill: Path, said: Said, code: int
) -> None:
    server.answer = lambda _path, _count: (code, {})
    with make(batch_id="b") as run:
        pass
    assert run.delivery.dropped == 2
    assert f"HTTP {code}" in said()
    assert spilled_in(spill) == []


@pytest.mark.parametrize("code", [400, 405, 411, 413])
@pytest.mark.parametrize("count", [1, 60])
def test_what_a_proxy_refuses_is_kept_and_sent_by_sync(
    make: Make, proxy: FaultProxy, spill: Path, said: Said, code: int, count: int
) -> None:
    proxy.always = status(code)
    with make(batch_id="b", url=proxy.url) as run, run.job("a") as job:
        for epoch in range(count):
            job.epoch(epoch, train_loss=1.0)
    assert run.delivery.dropped == 0
    assert run.delivery.rejected == run.delivery.produced == len(lines_of(spill / "rejected" / "b.jsonl")) == count + 4
    assert f"HTTP {code}: not from the service" in said()


@pytest.mark.parametrize(
    ("location", "advice"),
    [
        ("https://monitor.example.org/api/events", "set it to https://monitor.example.org"),
        ("https://login.example.org/?next=%2F", "redirects to https://login.example.org/"),
    ],
)
def test_of_a_redirect_the_log_says_where_it_leads(
    make: Make, proxy: FaultProxy, said: Said, location: str, advice: str
) -> None:
    proxy.always = status(308, location=location)
    with make(url=proxy.url) as run:
        run.flush(5)
    assert advice in said()
    assert run.delivery.spilled == run.delivery.produced == 2


def test_a_service_that_cannot_be_reached_is_logged_with_what_was_met_instead(
    make: Make, proxy: FaultProxy, said: Said
) -> None:
    proxy.always = status(502)
    with make(url=proxy.url) as run, run.job("a") as job:
        for epoch in range(2):
            job.epoch(epoch, train_loss=1.0)
            until(lambda: run.delivery.spilled == run.delivery.produced)
    assert "cannot be reached (HTTP 502: not from the service" in said()
    assert "cannot be reached;" not in said()


def test_of_the_html_page_of_a_proxy_the_log_has_the_text() -> None:
    page = b"<html>\n<head><style>b {}</style><title>403 Forbidden</title></head><body>\n<h1>nginx</h1>\n</body></html>"
    answer = interpret(Response(403, {}, page), 1, False, Tuning())
    assert answer.reason == "HTTP 403: not from the service: 403 Forbidden nginx"


def test_a_bad_item_of_an_array_is_dropped_alone(make: Make, server: FakeIngest, said: Said) -> None:
    def refuse(event: Event) -> dict[str, object] | None:
        if event["data"].get("epoch") == 17:
            return {"status": 422, "code": "too_many_series", "detail": "1,000 series"}
        return None

    server.refuse_item = refuse
    with make() as run:
        with run.job("a") as job:
            run.flush(5)
            with server.lock:
                for epoch in range(60):
                    job.epoch(epoch, train_loss=1.0)
    assert _epochs(server) == [epoch for epoch in range(60) if epoch != 17]
    assert run.delivery.dropped == 1
    # On a slow machine events in flight are also written to disk, and their replay is a repeat.
    assert run.delivery.accepted + run.delivery.duplicate == run.delivery.produced - 1
    assert "too_many_series" in said()


def test_an_item_that_the_service_could_not_take_now_is_sent_again(make: Make, server: FakeIngest) -> None:
    turns = iter([{"status": 503, "code": "database_away"}] * 2)
    server.refuse_item = lambda event: next(turns, None) if event["data"].get("epoch") == 17 else None
    with make() as run:
        with run.job("a") as job:
            run.flush(5)
            with server.lock:
                for epoch in range(60):
                    job.epoch(epoch, train_loss=1.0)
    assert sorted(_epochs(server)) == list(range(60))
    assert run.delivery.complete


def test_an_array_refused_as_a_whole_is_halved_until_only_the_culprit_is_lost(make: Make, server: FakeIngest) -> None:
    poison = 33

    def answer(path: str, count: int) -> tuple[int, dict[str, str]] | None:
        return (413, {}) if count > 40 else None

    server.answer = answer
    server.refuse_item = lambda event: (
        {"status": 413, "code": "event_too_large"} if event["data"].get("epoch") == poison else None
    )
    with make() as run:
        with run.job("a") as job:
            run.flush(5)
            with server.lock:
                for epoch in range(200):
                    job.epoch(epoch, train_loss=1.0)
    assert sorted(_epochs(server)) == [epoch for epoch in range(200) if epoch != poison]
    assert run.delivery.dropped == 1


def test_a_429_is_retried_after_the_time_in_its_header(make: Make, server: FakeIngest, proxy: FaultProxy) -> None:
    proxy.script.extend([status(429, Retry_After="1")])
    begin = time.monotonic()
    with make(url=proxy.url) as run:
        assert run.flush(10)
        assert time.monotonic() - begin >= 1.0
    assert run.delivery.complete


def test_retry_after_defaults_to_30_s_and_is_capped_at_60_s(quick: Callable[..., None]) -> None:
    from svc_reporter._delivery.responses import retry_after
    from svc_reporter._delivery.transport import Response
    from svc_reporter._shared.tuning import Tuning

    def wait(**headers: str) -> float:
        return retry_after(Response(429, {k.replace("_", "-"): v for k, v in headers.items()}, b""), Tuning())

    assert wait() == 30
    assert wait(retry_after="7") == 7
    assert wait(retry_after="3600") == 60
    assert wait(retry_after="soon") == 30
    assert wait(retry_after="-5") == 0
    assert wait(retry_after="Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert wait(retry_after="Wed, 21 Oct 2099 07:28:00 GMT") == 60


def test_an_acknowledgement_without_a_result_is_none(make: Make, server: FakeIngest, proxy: FaultProxy) -> None:
    proxy.script.extend([status(200), status(200)])  # as a captive portal answers
    with make(url=proxy.url) as run:
        pass
    assert server.types() == ["batch_start", "batch_done"]
    assert run.delivery.accepted == 2


def test_a_server_that_never_answers_does_not_hold_up_the_training(make: Make, proxy: FaultProxy) -> None:
    proxy.always = HANG
    with make(url=proxy.url, close_timeout_s=0.5) as run:
        with run.job("a") as job:
            begin = time.monotonic()
            for epoch in range(2000):
                job.epoch(epoch, train_loss=1.0)
            assert time.monotonic() - begin < 1.0
    assert run.delivery.spilled == 2004


def test_the_proxy_that_the_environment_names_is_used_except_for_this_machine(
    make: Make, server: FakeIngest, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    with make():
        pass
    assert proxy.posts == 0
    with make(url="http://service.invalid:8080") as run:
        pass
    assert run.delivery.complete
    assert proxy.posts == 2
    monkeypatch.setenv("no_proxy", ".invalid")
    with make(url="http://service.invalid:8080") as run:
        pass
    assert run.delivery.spilled == 2
    assert proxy.posts == 2


def test_with_every_file_descriptor_in_use_the_script_ends_as_without_a_run(server: FakeIngest) -> None:
    body = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
def use_all():
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return held
held = use_all() if sys.argv[1] == "before" else []
run = svc.init("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.1, resources_s=0.1, quiet=True)
held += use_all()
for step in range(10):
    run.log({"loss": 1.0})
time.sleep(0.3)
print("done")
"""
    for moment in ("before", "after"):
        running = process.script(body, {"URL": server.url, "SVC_WATCHDOG": "1"}, moment)
        out, err = running.communicate(timeout=60)
        assert (running.returncode, out) == (0, "done\n"), err
