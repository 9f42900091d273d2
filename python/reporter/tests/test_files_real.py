"""Files, media and artifacts against the real service: sent, cut, killed, read back and downloaded."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import svc_reporter as svc
from svc_reporter._cli import main
from svc_reporter.query import Api

from .kit.cutting_proxy import CuttingProxy
from .kit.real_server import ROOT, RealServer
from .kit.wait import until

# Whole processes against the real service.
pytestmark = pytest.mark.slow

QUIET: dict[str, Any] = {"resources_s": 0, "environment": False, "console": False, "quiet": True}
SOURCE = str(ROOT / "python" / "reporter" / "src")


@pytest.fixture
def begin(real_server: RealServer) -> Callable[..., svc.Run]:
    def make(**arguments: Any) -> svc.Run:
        target = {"url": real_server.url, "token": real_server.token}
        return svc.init(**{"project": f"files-{uuid4().hex[:8]}", **target, **QUIET, **arguments})

    return make


@pytest.fixture
def api(real_server: RealServer) -> Api:
    return Api(real_server.url, real_server.session)


def test_files_and_media_arrive_and_are_read_back(
    begin: Callable[..., svc.Run], api: Api, tmp_path: Path, spill: Path
) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    content = os.urandom(3_000_000)
    (folder / "last.pt").write_bytes(content)
    run = begin()
    for step in range(3):
        run.log({"loss": 1.0, "note": svc.Text(f"step {step}"), "w": svc.Histogram([1, 2, 3], num_bins=2)}, step=step)
    run.log({"table": svc.Table(columns=["a"], data=[[1]])}, step=3)
    run.save(str(folder / "*.pt"), base_path=tmp_path)
    run.finish()
    assert (run.delivery.files, run.delivery.files_sent, run.delivery.files_dropped) == (5, 5, 0)
    assert run.delivery.file_bytes_sent == run.delivery.file_bytes > len(content)
    assert run.delivery.complete
    batch = api.batch(run.id)
    by_path = {one["path"]: one for one in batch.files()}
    assert by_path["checkpoints/last.pt"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert batch.file("checkpoints/last.pt").download(tmp_path / "down").read_bytes() == content
    assert batch.download(tmp_path / "down", "checkpoints/") == []  # it is there already
    notes = batch.files("media/note/")
    assert [one.read() for one in notes] == [f"step {step}".encode() for step in range(3)]
    [table] = batch.files("media/table/")
    assert json.loads(table.read()) == {"columns": ["a"], "data": [[1]]}
    assert [path.name for path in (spill / "files" / "todo").iterdir()] == []
    assert list((spill / "files" / "content").iterdir()) == []


def test_media_are_read_back_by_name_and_step(begin: Callable[..., svc.Run], api: Api) -> None:
    run = begin()
    for step in range(3):
        run.log({"note": svc.Text(f"step {step}"), "w": svc.Histogram([1, 2, 3], num_bins=2)}, step=step)
    run.log({"table": svc.Table(columns=["a"], data=[[1]])}, step=3)
    run.finish()
    batch = api.batch(run.id)
    notes = batch.media("note")
    assert [(one["step"], one["_type"], one["uploaded"], one.read()) for one in notes] == [
        (step, "text", True, f"step {step}".encode()) for step in range(3)
    ]
    assert [one["counts"] for one in batch.media("w", last_step=1)] == [[1, 2], [1, 2]]
    assert json.loads(batch.media("table")[0].read()) == {"columns": ["a"], "data": [[1]]}
    assert {one["key"]: one["type"] for one in batch.media_keys()} == {
        "note": "text",
        "w": "histogram",
        "table": "table",
    }


def test_an_upload_that_is_cut_goes_on_where_it_was(
    begin: Callable[..., svc.Run], real_server: RealServer, tmp_path: Path, api: Api
) -> None:
    proxy = CuttingProxy(real_server.url)
    try:
        content = os.urandom(6_000_000)
        (tmp_path / "large.bin").write_bytes(content)
        run = begin(url=proxy.url)
        run.log({"loss": 1})
        assert run.flush(10)
        before = proxy.sent
        proxy.cuts = [700_000, 100, 1_500_000]
        run.save(str(tmp_path / "large.bin"), policy="now")
        assert run.flush(30)
        assert proxy.cuts == []
        # The parts that were cut are sent again, at most.
        assert proxy.sent - before < len(content) + 3 * 2**20
        run.finish()
        assert api.batch(run.id).file("large.bin")["sha256"] == hashlib.sha256(content).hexdigest()
    finally:
        proxy.close()


def test_files_of_a_killed_process_are_sent_by_sync(real_server: RealServer, tmp_path: Path, api: Api) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, sys, time
            import svc_reporter as svc
            run = svc.init("killed-files", id=sys.argv[1], quiet=True, console=False, url="http://127.0.0.1:9")
            run.log({"text": svc.Text("before the kill"), "loss": 1})
            with open("a.bin", "wb") as file:
                file.write(b"x" * 1000)
            run.save("a.bin", policy="now")
            run.reporter.files.encode_rest(time.monotonic() + 5)
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGKILL)
            """
        )
    )
    batch = f"killed-{uuid4().hex[:8]}"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": SOURCE, "SVC_TOKEN": real_server.token}
    env["SVC_WATCHDOG"] = "0"
    done = subprocess.run(
        [sys.executable, str(script), batch], cwd=tmp_path, env=env, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    env["SVC_URL"] = real_server.url
    command = [sys.executable, "-m", "svc_reporter", "sync"]
    synced = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert synced.returncode == 0, synced.stdout + synced.stderr
    assert "2 uploads sent" in synced.stdout
    found = {one["path"].split("/")[0]: one for one in api.batch(batch).files()}
    assert set(found) == {"media", "a.bin"}
    assert found["media"].read() == b"before the kill"
    assert not list((tmp_path / ".svc-reporter" / "files" / "content").iterdir())


def test_the_watchdog_sends_files_of_a_killed_process(
    real_server: RealServer, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, sys, time
            import svc_reporter as svc
            run = svc.init("killed-files", id=sys.argv[1], quiet=True, console=False)
            run.log({"loss": 1})
            assert run.flush(10)
            run.reporter.files._start = lambda *_: None  # as if it was killed before the first byte
            with open("a.bin", "wb") as file:
                file.write(b"x" * 1000)
            run.save("a.bin", policy="now")
            os.kill(os.getpid(), signal.SIGKILL)
            """
        )
    )
    batch = f"watched-{uuid4().hex[:8]}"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": SOURCE}
    env |= {"SVC_TOKEN": real_server.token, "SVC_URL": real_server.url}
    subprocess.run([sys.executable, str(script), batch], cwd=tmp_path, env=env, timeout=60, check=False)
    until(lambda: [one["path"] for one in api.batch(batch).files()] == ["a.bin"], 30)


def test_a_refused_file_costs_itself_and_a_line(
    begin: Callable[..., svc.Run], said: Callable[[], str], api: Api
) -> None:
    run = begin()
    files = run.reporter.files
    files.add_bytes(b"good", "good.txt")
    record = files.store.add(
        {
            "kind": "file",
            "batch_id": run.id,
            "file_path": "../bad.txt",
            "files": [{"path": "../bad.txt", "sha256": "0" * 64, "size": 4, "content": _put(files.store)}],
        },
        f"{run.id}~bad",
    )
    assert run.flush(20)
    run.finish()
    assert [one["path"] for one in api.batch(run.id).files()] == ["good.txt"]
    assert "the service refused file ../bad.txt" in said()
    assert not record.path.exists()


def _put(store: Any) -> str:
    return str(store.put(b"bad!").name)


def test_files_of_a_refused_run_hold_up_no_other_run_and_follow_it_to_another_project(
    begin: Callable[..., svc.Run], real_server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, free = f"taken-{uuid4().hex[:8]}", f"free-{uuid4().hex[:8]}"
    real_server.call("POST", "/api/projects", {"slug": taken})
    (tmp_path / "model.bin").write_bytes(b"weights")
    ids = []
    for project in (taken.title(), free):
        run = begin(project=project, mode="offline")
        run.save(str(tmp_path / "model.bin"), base_path=tmp_path)
        run.log_artifact(str(tmp_path / "model.bin"), name="model", type="model")
        run.finish()
        ids.append(run.id)
    monkeypatch.setenv("SVC_URL", real_server.url)
    monkeypatch.setenv("SVC_TOKEN", real_server.token)

    def stored(batch_id: str) -> tuple[list[str], list[str]]:
        files = real_server.call("GET", f"/api/batches/{batch_id}/files")["items"]
        artifacts = real_server.call("GET", f"/api/batches/{batch_id}/artifacts")["items"]
        return [one["path"] for one in files], [one["name"] for one in artifacts]

    assert main(["sync", "--quiet"]) == 1
    assert stored(ids[1]) == (["model.bin"], ["model"])
    assert main(["sync", "--rejected", "--project", taken, "--quiet"]) == 0
    assert stored(ids[0]) == (["model.bin"], ["model"])
    assert real_server.call("GET", f"/api/batches/{ids[0]}")["project"] == taken


def test_files_that_a_token_may_not_send_wait_for_a_better_one(
    begin: Callable[..., svc.Run], real_server: RealServer, tmp_path: Path
) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights")
    reader = real_server.call("POST", "/api/tokens", {"name": "reads", "scope": "read"})["token"]
    run = begin(token=reader)
    run.save(str(tmp_path / "model.bin"), base_path=tmp_path)
    run.log({"loss": 1.0})
    run.finish()
    assert main(["sync", "--rejected", "--quiet", "--url", real_server.url, "--token", real_server.token]) == 0
    files = real_server.call("GET", f"/api/batches/{run.id}/files")["items"]
    assert [one["path"] for one in files] == ["model.bin"]


def test_the_command_line_lists_gets_and_puts(
    begin: Callable[..., svc.Run], real_server: RealServer, tmp_path: Path
) -> None:
    run = begin()
    run.log({"loss": 1})
    run.finish()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one")
    (tmp_path / "data" / "b.txt").write_text("two")

    def call(*words: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": SOURCE}
        env |= {"SVC_URL": real_server.url, "SVC_TOKEN": token or real_server.session or ""}
        return subprocess.run(
            [sys.executable, "-m", "svc_reporter", *words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert call("files", "ls", run.id).returncode == 1
    put = call("files", "put", run.id, "data", token=real_server.token)
    assert (put.returncode, put.stdout) == (0, "2\n"), put.stderr
    assert [line.split("\t")[2] for line in call("files", "ls", run.id).stdout.splitlines()] == [
        "data/a.txt",
        "data/b.txt",
    ]
    assert call("files", "get", run.id, "data/a", "--to", "down").returncode == 0
    assert (tmp_path / "down" / "data" / "a.txt").read_text() == "one"
    assert call("files", "ls", "no such run").returncode == 1
