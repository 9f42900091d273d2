"""The reporter uses its own files only: it neither touches those of the user nor trusts those of others."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._disk import own_files
from svc_reporter._disk.run_record import prune
from svc_reporter._disk.spill import file_name

from .conftest import lines_of
from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.wait import until
from .test_replay import epoch_line, received, write_spill

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

Make = Callable[..., svc.Reporter]

ROWS = b"".join(
    json.dumps({"event_id": str(step), "event_type": "job_epoch", "loss": 1 / (step + 1)}).encode() + b"\n"
    for step in range(30)
)


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SVC_REPORTER_DIR, with files of the user whose names are those of spill files."""
    folder = tmp_path / "experiment"
    for name in ("", "rejected", "runs"):
        (folder / name).mkdir()
    (folder / "train.jsonl").write_bytes(ROWS)
    (folder / "train.jsonl.offset").write_text("12 of 30")
    (folder / "export.jsonl").write_bytes(b"".join(epoch_line("b", epoch) + b"\n" for epoch in range(30)))
    (folder / "rejected" / "train.jsonl").write_bytes(ROWS)
    (folder / "runs" / "train.json").write_text('{"lr": 0.1}')
    (folder / f"train.jsonl~host~{99_999_999}~1~00000000").write_bytes(ROWS)
    os.chmod(folder, 0o775)
    monkeypatch.setenv("SVC_REPORTER_DIR", str(folder))
    return folder


def _content(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """The user's files below the folder: content, mode and time of modification."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".svc-reporter" not in path.parts]
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in files
    }


def _command(server: FakeIngest, *arguments: str) -> str:
    env = {**os.environ, "SVC_URL": server.url, "SVC_TOKEN": server.token, "PYTHONPATH": str(process.SOURCE)}
    command = [sys.executable, "-m", "svc_reporter", *arguments]
    return subprocess.run(command, env=env, timeout=60, check=False, capture_output=True, text=True).stdout


def test_no_run_and_no_command_reads_moves_sends_or_deletes_a_file_of_the_user(
    make: Make, server: FakeIngest, users: Path
) -> None:
    before = _content(users)
    with svc.Reporter("vision", batch_id="train", stop_poll_s=0, resources_s=0):
        pass  # no service is configured: its events go to disk, under the name of the user's file
    assert len(lines_of(users / ".svc-reporter" / "train.jsonl")) == 2
    with make() as run:
        run.job("a").epoch(0, train_loss=1.0)
    for arguments in (("sync",), ("sync", "--rejected"), ("doctor",)):
        _command(server, *arguments)
    assert _content(users) == before
    assert received(server, "b") == []
    assert [event["event_type"] for event in server.events if event["batch_id"] == "train"] == [
        "batch_start",
        "batch_done",
    ]
    assert stat.S_IMODE(users.stat().st_mode) == 0o775


def test_the_watchdog_of_a_dead_run_leaves_the_files_of_the_user(server: FakeIngest, users: Path) -> None:
    before = _content(users)
    body = """
run = svc.Reporter("vision", batch_id="train", url=os.environ["URL"], token="em_live_test", stop_poll_s=0)
run.job("a").epoch(0, train_loss=1.0)
run.flush(5)
os._exit(3)
"""
    process.run(body, {"URL": server.url, "SVC_WATCHDOG": "1"}, code=3)
    until(lambda: bool(server.of("batch_failed")), 15)
    assert _content(users) == before


def test_spill_files_of_earlier_versions_in_a_configured_folder_are_sent(
    make: Make, server: FakeIngest, users: Path
) -> None:
    for name in ("b.jsonl", "c.jsonl~host~99999999~1~00000000", "rejected/d.jsonl"):
        batch = Path(name).name[0]
        (users / name).write_bytes(b"".join(epoch_line(batch, epoch) + b"\n" for epoch in range(3)))
    before = _content(users)
    with make():
        pass
    assert received(server, "b") == [0, 1, 2]
    assert set(before) - set(_content(users)) == {"b.jsonl"}
    _command(server, "sync", "--rejected")
    assert received(server, "d") == [0, 1, 2]
    assert "rejected/d.jsonl" not in _content(users)


def test_a_file_of_another_user_is_not_sent(
    make: Make, server: FakeIngest, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_spill(spill, "b", range(3))
    monkeypatch.setattr(os, "getuid", lambda: os.stat(path).st_uid + 1)
    with make():
        pass
    assert received(server, "b") == []
    assert len(lines_of(path)) == 3


def test_a_temp_folder_that_another_user_made_first_is_neither_read_nor_used(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.gettempdir()) / f"svc-reporter-{os.getuid()}"
    path = write_spill(folder, "forged", range(3))
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    monkeypatch.setattr(own_files, "_check", lambda *_: None)  # even if the file seems to be this user's
    with make():
        pass
    assert received(server, "forged") == []
    assert len(lines_of(path)) == 3


@pytest.mark.parametrize("kind", ["link", "shared", "pipe", "folder"])
def test_what_is_no_private_regular_file_is_not_sent(make: Make, server: FakeIngest, spill: Path, kind: str) -> None:
    path = write_spill(spill, "b", range(3))
    if kind == "link":
        target = path.rename(spill.parent / "data.jsonl")
        path.symlink_to(target)
    elif kind == "shared":
        path.chmod(0o666)
    else:
        path.unlink()
        (os.mkfifo if kind == "pipe" else os.mkdir)(path)
    with make():
        pass
    assert received(server, "b") == []
    assert path.is_symlink() if kind == "link" else path.exists()


def test_a_folder_that_others_could_write_to_becomes_private(make: Make, server: FakeIngest, spill: Path) -> None:
    write_spill(spill, "b", range(3))
    spill.chmod(0o777)
    with make():
        pass
    assert received(server, "b") == [0, 1, 2]
    assert stat.S_IMODE(spill.stat().st_mode) == 0o755


def test_a_home_folder_that_the_user_moved_elsewhere_by_a_link_is_used(
    make: Make, server: FakeIngest, spill: Path, tmp_path: Path
) -> None:
    (tmp_path / "scratch").mkdir()
    spill.symlink_to(tmp_path / "scratch")
    with svc.Reporter("vision", batch_id="b", stop_poll_s=0, resources_s=0):
        pass
    assert len(lines_of(tmp_path / "scratch" / "b.jsonl")) == 2
    with make():
        pass
    assert [event["event_type"] for event in server.events if event["batch_id"] == "b"] == ["batch_start", "batch_done"]


def test_complete_lines_that_are_not_events_are_kept_in_rejected(
    make: Make, server: FakeIngest, spill: Path, said: Callable[[], str]
) -> None:
    spill.mkdir(mode=0o700)
    odd = [b"not json", b'{"event_id": "1"}', b"x" * 3_000_000, b"\xff\xfe", b"[" * 100_000]
    good = [epoch_line("b", epoch) for epoch in range(len(odd))]
    lines = [line for pair in zip(odd, good, strict=True) for line in pair]
    (spill / "b.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    with make():
        pass
    assert received(server, "b") == list(range(len(odd)))
    kept = spill / "rejected" / "b.unreadable.jsonl"
    assert b"".join(kept.read_bytes().split(b"\n")) == b"".join(odd)
    assert "are not events" in said()
    content = kept.read_bytes()
    assert "0 files sent" in _command(server, "sync", "--rejected")
    assert kept.read_bytes() == content


def test_a_file_that_took_the_name_of_a_spill_file_is_not_appended_to(
    make: Make, server: FakeIngest, spill: Path
) -> None:
    spill.mkdir(mode=0o700)
    (spill / "b.jsonl").write_bytes(ROWS)
    with svc.Reporter("vision", batch_id="b", stop_poll_s=0, resources_s=0):
        pass
    with make():
        pass
    assert (spill / "b.jsonl").read_bytes() == ROWS
    assert [event["event_type"] for event in server.events if event["batch_id"] == "b"] == ["batch_start", "batch_done"]


def test_only_records_of_runs_are_pruned(tmp_path: Path) -> None:
    old: dict[str, Any] = {"version": 1, "batch_id": "b", "ended_at": "2020-01-01T00:00:00Z"}
    for name, content in (("old.json", json.dumps(old)), ("config.json", '{"lr": 0.1}'), ("list.json", "[1]")):
        (tmp_path / name).write_text(content)
        os.utime(tmp_path / name, (0, 0))
    assert prune(tmp_path, "host") == 1
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["config.json", "list.json"]


def test_the_name_of_the_specification_is_kept(spill: Path) -> None:
    path = write_spill(spill, "train-20260131-120000-3fa9c1", range(2))
    assert path == Path.home() / ".svc-reporter" / file_name("train-20260131-120000-3fa9c1")
    assert [event["data"]["epoch"] for event in lines_of(path)] == [0, 1]
