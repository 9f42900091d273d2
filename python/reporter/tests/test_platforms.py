"""The reporter where a system lacks what Linux has: Windows and macOS, as far as a process here can behave like one.

See kit/other_platform.py for what is gone and forbidden. It shows no real file system, signal or console.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import lines_of, spilled_in
from .kit.fake_ingest import FakeIngest
from .kit.process import run

LINE = (
    '{"event_id": "1", "schema_version": "1.1", "event_type": "log_line", "timestamp": "2026-01-01T00:00:00Z", '
    '"batch_id": "b", "job_id": "a", "source": {"project": "vision"}, "data": {"line": "x", "level": "info"}}\n'
)
PLATFORMS = pytest.mark.parametrize("platform", ["win32", "darwin"])


def env_of(platform: str, server: FakeIngest | None, **more: str) -> dict[str, str]:
    url = server.url if server else "http://127.0.0.1:9"
    return {"TEST_PLATFORM": platform, "SVC_URL": url, "SVC_TOKEN": "em_live_test", **more}


RUN = """
    print(sys.platform)
    with svc.init("vision", name="elsewhere", config={"lr": 0.1}, quiet=True) as run:
        for step in range(200):
            run.log({"loss": 1 / (step + 1)}, step=step)
        print("a printed line")
"""


@PLATFORMS
def test_a_run_is_complete(platform: str, server: FakeIngest) -> None:
    out, err = run(RUN, env_of(platform, server))
    assert out.split() == [platform, "a", "printed", "line"]
    assert err == ""
    steps = [event["data"]["epoch"] for event in server.of("job_epoch")]
    assert sorted(steps) == list(range(200))
    assert "a printed line" in [event["data"]["line"] for event in server.of("log_line")]
    assert server.types()[-1] == "batch_done"
    assert server.of("batch_start")[0]["data"]["env_snapshot"]["platform"] == platform


@PLATFORMS
def test_events_of_a_dead_service_go_to_disk_and_are_replayed_by_the_next_run(
    platform: str, server: FakeIngest, spill: Path
) -> None:
    offline = """
        with svc.Reporter("vision", batch_id="earlier") as run:
            with run.job("a") as job:
                for epoch in range(300):
                    job.epoch(epoch, loss=1.0)
    """
    run(offline, env_of(platform, None))
    assert [path.name for path in spilled_in(spill)] == ["earlier.jsonl"]
    assert len(lines_of(spill / "earlier.jsonl")) == 304
    run("with svc.Reporter('vision', batch_id='later'): pass", env_of(platform, server))
    steps = [event["data"]["epoch"] for event in server.of("job_epoch") if event["batch_id"] == "earlier"]
    assert steps == list(range(300))
    assert spilled_in(spill) == []


@PLATFORMS
def test_a_claim_of_a_running_process_is_respected_and_that_of_an_ended_one_is_taken_over(
    platform: str, server: FakeIngest, spill: Path
) -> None:
    claims = """
        import json, subprocess
        from pathlib import Path
        from svc_reporter._disk import claims
        from svc_reporter._shared import process
        from svc_reporter._shared.tuning import Tuning
        folder = Path(os.environ["HOME"], ".svc-reporter")
        folder.mkdir(mode=0o700, exist_ok=True)
        pid = int(os.environ["PID"])
        for name, number, start in (
            ("living", pid, process.start_time(pid) or "0"), ("reused", pid, "17"), ("ended", 999_999_999, "17"),
        ):
            (folder / f"{name}.jsonl~{claims._host()}~{number}~{start}~00000000").write_text(os.environ["LINE"])
        print(json.dumps(sorted(path.name.split(".")[0] for path in claims.waiting(folder, Tuning()))))
        identity = process.ProcessIdentity.of(pid)
        print(json.dumps([identity.is_alive(), process.ProcessIdentity(999_999_999, None, None).is_alive()]))
        if sys.platform == "win32":  # a process of the system, which a user may not ask
            print(process.ProcessIdentity(4, None, None).is_alive())
    """
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        # macOS does not tell when a process started: a number that is used is taken for that of the maker.
        known = platform == "win32"
        if platform == "darwin":
            os.kill(sleeper.pid, 0)
        out, _ = run(claims, env_of(platform, server, PID=str(sleeper.pid), LINE=LINE))
        lines = out.splitlines()
        assert lines[0] == ('["ended", "reused"]' if known else '["ended"]')
        assert lines[1] == ("[true, false]" if known else "[null, false]")
        assert lines[2:] == (["None"] if known else [])
        assert sleeper.poll() is None, "asking about a process ended it"
    finally:
        sleeper.communicate(b"\n")


@PLATFORMS
def test_a_failure_is_recorded_with_its_traceback(platform: str, server: FakeIngest) -> None:
    failing = """
        with svc.init("vision", quiet=True) as run:
            run.log({"loss": 1})
            raise ValueError("bad batch")
    """
    _, err = run(failing, env_of(platform, server), code=1)
    assert "ValueError: bad batch" in err
    (failed,) = server.of("batch_failed")
    assert "ValueError: bad batch" in failed["data"]["traceback"]


@PLATFORMS
@pytest.mark.parametrize("loop", ["job.log('line'); time.sleep(0.01)", "sum(range(1000))"])
def test_a_stop_ends_a_loop_that_calls_the_reporter_and_one_that_does_not(
    platform: str, loop: str, server: FakeIngest
) -> None:
    server.stop_requested = True
    body = f"""
        _tuning.DEFAULT = dataclasses.replace(_tuning.DEFAULT, interrupt_s=0.3)
        with svc.Reporter("vision", stop_poll_s=0.1, resources_s=0, heartbeat_s=0) as run, run.job("a") as job:
            while True:
                {loop}
    """
    run(body, env_of(platform, server), code=143)
    assert [event["data"]["reason"] for event in server.of("batch_failed")] == ["stop_requested"]
