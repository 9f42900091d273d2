"""The record that a run leaves on its own machine, and the identity of its process."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._delivery.transport import Target, Transport, Unreachable
from svc_reporter._disk import run_record
from svc_reporter._disk.spill import folders
from svc_reporter._shared.process import ProcessIdentity

from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.wait import until

Make = Callable[..., svc.Reporter]


def record_of(spill: Path, batch_id: str = "b") -> dict[str, Any]:
    data: dict[str, Any] = json.loads((spill / "runs" / run_record.record_name(batch_id)).read_text())
    return data


def write(place: Path, batch_id: str = "b", command: str = "python train.py", host: str = "here") -> Path:
    return run_record.write_started(
        [place], batch_id=batch_id, project="vision", url=None, host=host, command=command, cwd="/work"
    )


def test_a_run_leaves_a_record_of_the_events_it_has_sent(make: Make, server: FakeIngest, spill: Path) -> None:
    with make(batch_id="b") as run:
        run.flush(5)
        (start,) = server.of("batch_start")
        record = record_of(spill)
        assert record["ended_at"] is None
    snapshot = start["data"]["env_snapshot"]
    assert (record["command"], record["cwd"]) == (snapshot["command"], snapshot["cwd"])
    assert record["hash"] == sha256(snapshot["command"].encode()).hexdigest()
    assert (record["version"], record["batch_id"], record["project"]) == (1, "b", "vision")
    assert (record["url"], record["host"]) == (server.url, start["source"]["host"])
    assert record["started_at"].endswith("Z")
    assert record_of(spill)["ended_at"] >= record["started_at"]


def test_the_record_and_the_start_name_the_process(make: Make, server: FakeIngest, spill: Path) -> None:
    with make(batch_id="b"):
        pass
    (start,) = server.of("batch_start")
    own = ProcessIdentity.own()
    assert ProcessIdentity.from_data(record_of(spill)) == own
    assert ProcessIdentity.from_data(start["data"]["process"]) == own


def test_the_record_is_readable_by_its_owner_alone(make: Make, spill: Path) -> None:
    with make(batch_id="b"):
        pass
    assert (spill / "runs").stat().st_mode & 0o777 == 0o700
    assert (spill / "runs" / "b.json").stat().st_mode & 0o777 == 0o600


def test_the_record_is_there_before_the_service_hears_of_the_run(server: FakeIngest, spill: Path, make: Make) -> None:
    seen: list[bool] = []
    server.refuse_item = lambda _event: seen.append((spill / "runs" / "b.json").exists())
    with make(batch_id="b") as run:
        for _ in range(50):  # enough to be sent as an array
            run.log("x")
        run.flush(5)
    assert seen
    assert all(seen)


def test_a_run_that_is_killed_leaves_a_record_without_an_end(server: FakeIngest, spill: Path) -> None:
    body = """
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0)
run.job("a").begin()
run.flush(10)
os.kill(os.getpid(), signal.SIGKILL)
"""
    process.run(body, {"URL": server.url}, code=-9)
    record = run_record.find_record(folders(None), "b")
    assert record is not None
    assert not record.ended
    assert record.process is not None
    assert record.process.is_alive() is False


def test_a_process_that_joins_a_batch_leaves_no_record(
    make: Make, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "b")
    with make() as run, run.job("a"):
        pass
    assert run_record.find_record(folders(None), "b") is None
    assert list((spill / "runs").glob("*")) == []


def test_a_record_that_cannot_be_written_costs_a_warning_only(
    make: Make, server: FakeIngest, own_world: Path, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_world / ".svc-reporter").write_text("no folder")
    monkeypatch.setattr("tempfile.tempdir", str(own_world / "missing" / "temp"))
    (own_world / "missing").write_text("no folder either")
    with make(batch_id="b"):
        pass
    assert len(server.of("batch_done")) == 1
    assert "svc-agent will not rerun it" in said()


def test_a_run_resumed_under_its_old_id_keeps_the_earlier_command(spill: Path) -> None:
    write(spill, command="first")
    write(spill, command="second")
    write(spill, command="first")
    record = record_of(spill)
    assert record["command"] == "first"
    assert [each["command"] for each in record["earlier"]] == ["second"]


def test_ids_that_are_no_file_names_get_a_file_each(spill: Path) -> None:
    ids = ["a/b", "a?b", "../b", "ünï 😀", "x" * 300, "CON", ".hidden"]
    paths = {write(spill, batch_id=batch_id) for batch_id in ids}
    assert len(paths) == len(ids)
    assert {path.parent for path in paths} == {spill / "runs"}
    for batch_id in ids:
        found = run_record.find_record([spill], batch_id)
        assert found is not None
        assert found.data["batch_id"] == batch_id


def test_a_record_that_others_may_write_to_is_not_believed(spill: Path) -> None:
    path = write(spill)
    path.chmod(0o666)
    assert run_record.find_record([spill], "b") is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"version":2,"batch_id":"b"}', b"\xff"])
def test_a_damaged_record_is_no_record(spill: Path, content: bytes) -> None:
    path = write(spill)
    path.write_bytes(content)
    assert run_record.find_record([spill], "b") is None
    write(spill)
    assert run_record.find_record([spill], "b") is not None


def age(path: Path, days: float) -> None:
    then = time.time() - days * 86_400
    os.utime(path, (then, then))


def test_records_of_ended_runs_go_after_90_days_and_those_of_live_ones_stay(spill: Path) -> None:
    ended, live = write(spill, "ended", host="here"), write(spill, "live", host="here")
    run_record.write_ended(ended)
    gone = write(spill, "gone")
    gone.write_text(json.dumps({**json.loads(gone.read_text()), "pid": 2**22 + 1}))
    young = write(spill, "young")
    run_record.write_ended(young)
    for path in (ended, live, gone):
        age(path, 91)
    age(young, 89)
    write(spill, "new")
    assert sorted(path.stem for path in (spill / "runs").iterdir()) == ["live", "new", "young"]


def test_a_shared_folder_keeps_the_live_runs_of_other_machines(spill: Path) -> None:
    path = write(spill, "elsewhere", host="elsewhere")
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": 2**22 + 1}))
    age(path, 100)
    write(spill, "new")
    assert path.exists()
    age(path, 366)
    write(spill, "newer")
    assert not path.exists()


def test_at_most_1000_records_of_ended_runs_are_kept(spill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_record, "KEPT_FILES", 5)
    for n in range(8):
        path = write(spill, f"b{n}")
        run_record.write_ended(path)
        age(path, 1 - n / 100)
    assert sorted(path.stem for path in (spill / "runs").iterdir()) == ["b3", "b4", "b5", "b6", "b7"]


def test_only_the_process_that_wrote_a_record_ends_it(spill: Path) -> None:
    path = write(spill)
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": os.getpid() + 1}))
    run_record.write_ended(path)
    assert record_of(spill)["ended_at"] is None


def test_a_process_is_known_until_it_ends_and_a_later_one_is_another() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        identity = ProcessIdentity.of(sleeper.pid)
        assert identity.is_alive() is True
        assert dataclasses.replace(identity, start_time="1").is_alive() is False
        assert dataclasses.replace(identity, boot_id="another boot").is_alive() is False
        assert dataclasses.replace(identity, start_time=None).is_alive() is None
        assert ProcessIdentity.from_data(json.loads(json.dumps(identity.as_data()))) == identity
        sleeper.kill()
        until(lambda: identity.is_alive() is False)  # it is a zombie now: its exit code was not read
    finally:
        sleeper.kill()
        sleeper.communicate()
    assert identity.is_alive() is False


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"pid": 0}, {"pid": True}, {"pid": "1"}, {"pid": 1, "start_time": 5}, {"pid": 1, "boot_id": 5}],
)
def test_an_invalid_process_id_is_no_process(data: Any) -> None:
    assert ProcessIdentity.from_data(data) is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://monitor.example.org", True),
        ("http://10.0.0.7:8080", True),
        ("http://[fe80::1]", True),
        ("https://monitor.example.org", False),
        ("http://localhost:3000", False),
        ("http://127.0.0.1:3000", False),
        ("http://127.1.2.3", False),
        ("http://[::1]:3000", False),
        ("http://127.0.0.1.example.org", True),
    ],
)
def test_plain_http_shows_the_token_to_everyone_but_this_machine(url: str, shown: bool) -> None:
    assert Target.parse(url).shows_token is shown


def test_a_token_over_plain_http_to_another_machine_is_warned_about_once(
    said: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    target = Target.parse("http://192.0.2.1:9")  # an address that no machine has
    for _ in range(3):
        transport = Transport(target, "em_live_x", 0.01)
        with pytest.raises(Unreachable):
            transport.get("/livez")
    assert said().count("is not encrypted") == 1
    assert [record.levelno for record in caplog.records if "not encrypted" in record.getMessage()] == [logging.WARNING]


def test_no_token_or_this_machine_is_not_warned_about(server: FakeIngest, said: Callable[[], str]) -> None:
    Transport(Target.parse(server.url), server.token, 1).get("/livez")
    with pytest.raises(Unreachable):
        Transport(Target.parse("http://192.0.2.2:9"), "", 0.01).get("/livez")
    assert "not encrypted" not in said()


def test_two_processes_may_write_records_at_once(spill: Path) -> None:
    threads = [threading.Thread(target=lambda n=n: write(spill, f"b{n % 3}")) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.name for path in (spill / "runs").iterdir()) == ["b0.json", "b1.json", "b2.json"]
