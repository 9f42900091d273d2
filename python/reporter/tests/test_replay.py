"""Spill files: who replays them, in what order, and what survives a crash."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._disk import claims as _claims
from svc_reporter._disk.spill import SpillFolder, file_name
from svc_reporter._shared.ids import EventIds, now_ms, timestamp
from svc_reporter._shared.process import start_time
from svc_reporter._shared.tuning import Tuning

from .conftest import lines_of, spilled_in
from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.fault_proxy import DROP_ANSWER_AFTER_COMMIT, FaultProxy
from .kit.wait import until

Make = Callable[..., svc.Reporter]
IDS = EventIds()


def epoch_line(batch: str, epoch: int) -> bytes:
    ms = now_ms()
    event: dict[str, Any] = {
        "event_id": IDS.make(ms),
        "schema_version": "1.1",
        "event_type": "job_epoch",
        "timestamp": timestamp(ms),
        "batch_id": batch,
        "job_id": "a",
        "source": {"project": "vision"},
        "data": {"epoch": epoch},
    }
    return json.dumps(event).encode()


def write_spill(folder: Path, batch: str, epochs: range, age_s: float = 0.0) -> Path:
    SpillFolder([folder]).append(batch, [epoch_line(batch, epoch) for epoch in epochs])
    path = folder / file_name(batch)
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def received(server: FakeIngest, batch: str) -> list[int]:
    return [event["data"]["epoch"] for event in server.of("job_epoch") if event["batch_id"] == batch]


def test_earlier_spill_files_are_replayed_at_the_next_start_in_order_of_modification(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    for batch, age_s in (("young", 10), ("old", 1000), ("middle", 100)):
        write_spill(spill, batch, range(30), age_s)
    with make():
        pass
    order = [event["batch_id"] for event in server.of("job_epoch")]
    assert order == ["old"] * 30 + ["middle"] * 30 + ["young"] * 30
    assert spilled_in(spill) == []


def test_a_replay_is_not_in_the_counts_of_the_run_that_does_it(make: Make, server: FakeIngest, spill: Path) -> None:
    write_spill(spill, "other", range(30))
    with make() as run:
        pass
    assert run.delivery.produced == run.delivery.accepted == 2
    assert len(received(server, "other")) == 30


def test_a_chunk_of_fewer_than_20_is_replayed_one_by_one_and_larger_ones_as_arrays(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    write_spill(spill, "large", range(1203), 100)
    write_spill(spill, "small", range(5))
    with make():
        pass
    assert [count for path, count in server.requests if path.endswith("/batch")] == [500, 500, 203]
    assert received(server, "small") == list(range(5))


def test_an_incomplete_line_is_skipped_and_later_ones_are_not(
    make: Make, server: FakeIngest, spill: Path, said: Callable[[], str]
) -> None:
    path = write_spill(spill, "torn", range(3))
    torn = epoch_line("torn", 3)[:50]
    with open(path, "ab") as file:
        file.write(torn)
    SpillFolder([spill]).append("torn", [epoch_line("torn", 4)])
    with open(path, "ab") as file:
        file.write(epoch_line("torn", 5)[:70])
    with make():
        pass
    assert received(server, "torn") == [0, 1, 2, 4]
    assert "incomplete line" in said()
    assert spilled_in(spill) == [spill / "rejected"]
    (kept,) = (spill / "rejected").iterdir()
    assert kept.read_bytes() == torn + b"\n"


def test_a_last_line_that_is_whole_but_for_its_end_is_sent(make: Make, server: FakeIngest, spill: Path) -> None:
    path = write_spill(spill, "whole", range(2))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with make():
        pass
    assert received(server, "whole") == [0, 1]


def test_after_an_interrupted_replay_the_next_one_continues_after_the_acknowledged_chunks(
    make: Make, server: FakeIngest, proxy: FaultProxy, spill: Path
) -> None:
    write_spill(spill, "long", range(1800))
    server.answer = lambda path, count: (500, {}) if count == 300 else None  # the last chunk of 1800
    with make(url=proxy.url, close_timeout_s=3):
        until(lambda: len(received(server, "long")) == 1500)
        until(lambda: (spill / "long.jsonl.offset").exists())
    assert (spill / "long.jsonl").exists()
    server.answer = lambda _path, _count: None
    server.requests.clear()
    with make():
        pass
    # Not the count of requests: one of the first reporter may still be on its way through the proxy.
    assert {count for path, count in server.requests if path.endswith("/batch")} == {300}
    assert received(server, "long") == list(range(1800))
    assert spilled_in(spill) == []


def test_an_offset_left_behind_by_a_crash_is_not_applied_to_a_younger_file(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    path = write_spill(spill, "b", range(30))
    _claims.write_offset(path, 2000)
    path.unlink()
    write_spill(spill, "b", range(100, 130))
    with make():
        pass
    assert received(server, "b") == list(range(100, 130))


def test_an_answer_lost_in_a_replay_creates_no_duplicate_row(
    make: Make, server: FakeIngest, proxy: FaultProxy, spill: Path
) -> None:
    write_spill(spill, "b", range(100))
    proxy.script.extend([DROP_ANSWER_AFTER_COMMIT] * 3)
    with make(url=proxy.url):
        pass
    assert received(server, "b") == list(range(100))


def test_a_replay_that_meets_a_401_keeps_the_file(make: Make, server: FakeIngest, spill: Path) -> None:
    path = write_spill(spill, "b", range(30))
    with make(token="em_live_old"):
        pass
    assert len(lines_of(path)) == 30


def test_events_of_another_project_that_are_refused_in_a_replay_are_set_aside(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    write_spill(spill, "alien", range(30))
    server.refuse_item = lambda e: {"status": 403, "code": "project_forbidden"} if e["batch_id"] == "alien" else None
    with make() as run:
        pass
    assert len(lines_of(spill / "rejected" / "alien.jsonl")) == 30
    assert run.delivery.dropped == 0


@pytest.mark.parametrize(
    "batch_id",
    [
        "../../etc/passwd",
        "a/b",
        ".hidden",
        "con",
        "ünï-😀",
        "x" * 128,
        "a~b~c~d~e",
        "sp ace",
        "a.jsonl",
        "%2e",
        "A" * 101,
    ],
)
def test_odd_batch_ids_make_safe_file_names_and_come_back(
    make: Make, server: FakeIngest, spill: Path, batch_id: str
) -> None:
    with svc.Reporter("vision", batch_id=batch_id, stop_poll_s=0, resources_s=0):
        pass
    files = spilled_in(spill)
    assert len(files) == 1
    assert files[0].parent == spill
    assert len(files[0].name) < 140
    assert len(lines_of(files[0])) == 2
    with make():
        pass
    assert [event["event_type"] for event in server.events if event["batch_id"] == batch_id] == [
        "batch_start",
        "batch_done",
    ]
    assert spilled_in(spill) == []


def test_a_plain_batch_id_is_the_file_name() -> None:
    assert file_name("train-20260131-120000-3fa9c1") == "train-20260131-120000-3fa9c1.jsonl"
    assert len({file_name(name) for name in ("a/b", "a\\b", "a_b", "a%2Fb", "A/b")}) == 5


def test_spill_files_are_for_the_user_alone(spill: Path) -> None:
    path = write_spill(spill, "b", range(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(spill.stat().st_mode) == 0o700


def test_only_one_of_many_claims_wins(spill: Path) -> None:
    path = write_spill(spill, "b", range(3))
    claims = [_claims.claim(path) for _ in range(5)]
    assert sum(held is not None for held in claims) == 1


def test_a_claim_of_a_running_process_is_respected_and_a_dead_ones_is_taken_over(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    host = socket.gethostname()
    start = start_time(sleeper.pid) or "0"
    path = write_spill(spill, "living", range(30))
    living = path.rename(spill / f"living.jsonl~{host}~{sleeper.pid}~{start}~00000000")
    path = write_spill(spill, "reused", range(30))
    path.rename(spill / f"reused.jsonl~{host}~{sleeper.pid}~{int(start) + 1}~00000000")  # the number, not the process
    path = write_spill(spill, "dead", range(1000))
    dead = path.rename(spill / f"dead.jsonl~{host}~999999999~1~00000000")
    size = len(lines_of(dead))
    ends = [i + 1 for i, byte in enumerate(dead.read_bytes()) if byte == 10]
    _claims.write_offset(dead, ends[499])
    path = write_spill(spill, "elsewhere", range(30))
    elsewhere = path.rename(spill / "elsewhere.jsonl~otherhost~1~1~00000000")
    try:
        with make():
            pass
        assert received(server, "living") == []
        assert received(server, "elsewhere") == []
        assert received(server, "reused") == list(range(30))
        assert received(server, "dead") == list(range(500, size))
        assert sorted(entry.name for entry in spilled_in(spill)) == sorted([living.name, elsewhere.name])
        assert elsewhere not in _claims.waiting(spill, Tuning())
        assert elsewhere in _claims.waiting(spill, Tuning(foreign_claim_stale_s=-1))
    finally:
        sleeper.communicate(b"\n")


REPLAYER = """
with svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0) as run:
    pass
"""


def test_processes_that_start_together_replay_every_event_once(server: FakeIngest, spill: Path) -> None:
    for batch in range(12):
        write_spill(spill, f"b{batch}", range(200))
    many = [process.script(REPLAYER, {"URL": server.url}) for _ in range(5)]
    for each in many:
        _, err = each.communicate(timeout=60)
        assert each.returncode == 0, err
    for batch in range(12):
        assert received(server, f"b{batch}") == list(range(200))
    sent = sum(count for path, count in server.requests if path.endswith("/batch"))
    assert sent == 12 * 200  # not one was sent twice
    assert spilled_in(spill) == []


def test_a_process_killed_in_the_middle_of_a_replay_loses_nothing(server: FakeIngest, spill: Path) -> None:
    proxy = FaultProxy(server.url)
    try:
        write_spill(spill, "b", range(5000))
        for _ in range(3):
            victim = process.script(REPLAYER, {"URL": proxy.url})
            before = len(server.events)
            until(lambda before=before: len(server.events) > before + 500)  # type: ignore[misc]
            victim.kill()
            victim.communicate()
        process.run(REPLAYER, {"URL": proxy.url})
        assert received(server, "b") == list(range(5000))
    finally:
        proxy.close()


WRITER = """
from svc_reporter._disk.spill import SpillFolder
from pathlib import Path
import json
folder = SpillFolder([Path(os.environ["FOLDER"])])
event = {"schema_version": "1.1", "event_type": "job_epoch", "timestamp": "2026-01-01T00:00:00Z", "batch_id": "live",
         "job_id": "a", "source": {"project": "vision"}, "data": {"epoch": 0}}
for n in range(1500):
    folder.append("live", [json.dumps({"event_id": f"{os.getpid()}-{n}", **event}).encode()])
"""


def test_lines_written_while_the_file_is_claimed_and_finished_are_never_lost(spill: Path) -> None:
    writers = [process.script(WRITER, {"FOLDER": str(spill)}) for _ in range(2)]
    seen: list[str] = []
    while any(writer.poll() is None for writer in writers) or _claims.waiting(spill, Tuning()):
        for path in _claims.waiting(spill, Tuning()):
            held = _claims.claim(path)
            if held is not None:
                seen += [line["event_id"] for line in lines_of(held.path)]
                _claims.finish(held)
    for writer in writers:
        _, err = writer.communicate()
        assert writer.returncode == 0, err
    assert sorted(seen) == sorted(f"{writer.pid}-{n}" for writer in writers for n in range(1500))


def test_a_home_that_cannot_be_written_falls_back_to_the_temp_folder(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/proc")
    with svc.Reporter("vision", batch_id="b", stop_poll_s=0, resources_s=0) as run:
        pass
    assert run.delivery.spilled == 2
    (file,) = Path(tempfile.gettempdir()).glob("svc-reporter-*/b.jsonl")
    assert len(lines_of(file)) == 2
    with make():
        pass
    assert len([event for event in server.events if event["batch_id"] == "b"]) == 2


def test_a_temp_folder_made_by_a_stranger_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Callable[[], str]
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (Path(tempfile.gettempdir()) / f"svc-reporter-{os.getuid()}").symlink_to(target)
    monkeypatch.setenv("HOME", "/proc")
    with svc.Reporter("vision", batch_id="b", stop_poll_s=0, resources_s=0, close_timeout_s=0.2) as run:
        pass
    assert spilled_in(target) == []
    assert run.delivery.dropped == 2
    assert "cannot write events to disk" in said()


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))  # what a full disk says: a short write, then an error
with svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                  resources_s=0, close_timeout_s=4) as run:
    with run.job("a") as job:
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0)
            time.sleep(0.002)
        while run.delivery.spilled == 0:
            time.sleep(0.01)
        print("full", run.delivery.spilled, flush=True)
        if os.environ.get("RECOVER"):
            input_path = os.environ["RECOVER"]
            while not os.path.exists(input_path):
                time.sleep(0.01)
            time.sleep(0.6)
print(*run.delivery.as_data().values())
"""


def test_on_a_full_disk_the_events_that_fit_are_stored_and_the_rest_is_counted_as_lost(
    spill: Path, tmp_path: Path
) -> None:
    begin = time.monotonic()
    out, err = process.run(FULL, {"URL": "http://127.0.0.1:9"})
    assert time.monotonic() - begin < 20
    produced, accepted, duplicate, spilled, dropped, _ = map(int, out.splitlines()[-1].split())
    assert produced == 104
    assert accepted == duplicate == 0
    assert spilled > 5
    assert spilled + dropped == produced
    files = [spill / "b.jsonl", *Path(tempfile.gettempdir()).glob("svc-reporter-*/b.jsonl")]
    assert len(files) == 2  # the temp folder takes over when the home is full
    # The limit may cut a line just before its newline: it does not count as written.
    whole = [line for file in files for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"}\n")]
    assert len(whole) == spilled
    assert f"svc: the record of batch b is incomplete: {dropped} of 104 events are lost" in err


def test_events_that_no_disk_took_wait_in_memory_for_the_server(server: FakeIngest, tmp_path: Path) -> None:
    proxy = FaultProxy(server.url)
    proxy.refuse()
    body = FULL.replace(
        "import resource",
        "import resource\n_tuning.DEFAULT = dataclasses.replace(_tuning.DEFAULT, probe_first_s=0.1, probe_last_s=0.3)",
    )
    running = process.script(body, {"URL": proxy.url, "RECOVER": str(tmp_path / "go")})
    try:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("full")
        proxy.accept()
        (tmp_path / "go").touch()
        out, err = running.communicate(timeout=30)
        assert running.returncode == 0, err
        counts = list(map(int, out.splitlines()[-1].split()))
        assert counts[0] == 104
        assert counts[1] + counts[2] == 104
        assert sorted(received(server, "b")) == list(range(100))
    finally:
        running.kill()
        proxy.close()
