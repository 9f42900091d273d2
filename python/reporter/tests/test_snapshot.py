"""What a batch says about how it was started, without its secrets."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._capture.git import git_state
from svc_reporter._shared.redact import MASK, is_secret_name, redact_arguments, redact_text

from .kit import process
from .kit.fake_ingest import FakeIngest

Make = Callable[..., svc.Reporter]


@pytest.mark.parametrize(
    ("arguments", "masked"),
    [
        (["--api-key", "abc"], ["--api-key", MASK]),
        (["--apiKey=abc"], [f"--apiKey={MASK}"]),
        (["--password", "hunter2", "--lr", "0.1"], ["--password", MASK, "--lr", "0.1"]),
        (["DB_PASSWORD=x y", "run"], [f"DB_PASSWORD={MASK}", "run"]),
        (["trainer.hub_token=hf_short"], [f"trainer.hub_token={MASK}"]),
        (["--token", "abc"], ["--token", MASK]),
        (["--svc-token=abc"], [f"--svc-token={MASK}"]),
        (["postgres://bob:pw@db/x"], [f"postgres://{MASK}@db/x"]),
        (["x", "em_live_0123456789abcdef"], ["x", MASK]),
        (["--header", "Authorization: Bearer abcdefgh12345"], ["--header", f"Authorization: Bearer {MASK}"]),
        (["--resume-token", "a8f7d6c5b4a39281abcd"], ["--resume-token", MASK]),
    ],
)
def test_secrets_in_a_command_are_masked(arguments: list[str], masked: list[str]) -> None:
    assert redact_arguments(arguments, {}) == (masked, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-tokens", "512"],
        ["--eos-token", "</s>"],
        ["--pad_token=<pad>"],
        ["--tokenizer", "gpt2"],
        ["--token-dim", "64"],
        ["--num-tokens=1000000000000000000"],
        ["--use-auth-token", "true"],
        ["--monkey", "abc"],
        ["--keyboard=qwerty", "--author", "ada"],
        ["http://host:80/path"],
        ["-m", "train", "--lr=0.1"],
    ],
)
def test_text_that_only_looks_like_a_secret_is_kept(arguments: list[str]) -> None:
    assert redact_arguments(arguments, {}) == (arguments, False)


def test_the_value_of_a_secret_variable_is_masked_everywhere() -> None:
    env = {"WANDB_API_KEY": "abcdef123456", "HOME": "/home/ada/long"}
    assert redact_arguments(["run", "x=abcdef123456", "/home/ada/long"], env) == (
        ["run", f"x={MASK}", "/home/ada/long"],
        True,
    )


def test_known_token_shapes_are_masked_in_free_text() -> None:
    text = "push failed: ghp_abcdefghijkl123 at https://u:p@host eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.abc"
    assert redact_text(text) == f"push failed: {MASK} at https://{MASK}@host {MASK}"
    assert not is_secret_name("")
    assert not is_secret_name("PWD", "/home/user/project")
    assert is_secret_name("DB_PWD", "x")


def test_the_snapshot_has_everything_for_a_rerun(server: FakeIngest, tmp_path: Path) -> None:
    work = tmp_path / "my project"
    work.mkdir()
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (work / "code.py").write_text("1")
    for arguments in (["init", "-q", "-b", "trunk"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], cwd=work, check=True)
    short = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=work, check=True, capture_output=True, text=True
    ).stdout.strip()
    body = f"""
os.chdir({str(work)!r})
with svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0):
    os.chdir("/")
"""
    running = process.script(
        body, {"URL": server.url, "MY_VARIABLE": "secret-value"}, "--name", "a b", "--token", "t0k"
    )
    _, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
    start = server.of("batch_start")[0]
    snapshot = start["data"]["env_snapshot"]
    assert snapshot["cwd"] == str(work)
    assert snapshot["hostname"] == socket.gethostname() == start["source"]["host"]
    assert snapshot["commit"] == short == start["source"]["commit"]
    assert snapshot["dirty"] is False
    assert snapshot["branch"] == "trunk"
    words = shlex.split(snapshot["command"])
    assert words[0] == snapshot["python"] == sys.executable
    assert words[-4:] == ["--name", "a b", "--token", "***"]
    assert snapshot["command_redacted"] is True
    assert start["source"]["command"] == start["data"]["command"] == snapshot["command"]
    assert "MY_VARIABLE" in snapshot["env_names"]
    assert "secret-value" not in str(start)


def test_uncommitted_changes_are_reported(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    assert git_state(str(tmp_path)) == {}
    (tmp_path / "code.py").write_text("1")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    (tmp_path / "untracked").write_text("1")
    assert git_state(str(tmp_path))["dirty"] is False
    (tmp_path / "code.py").write_text("2")
    assert git_state(str(tmp_path))["dirty"] is True


def test_a_git_that_hangs_does_not_hold_up_the_training(
    make: Make, server: FakeIngest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    from svc_reporter._capture import git as _git

    tool = tmp_path / "git"
    tool.write_text("#!/bin/sh\nexec sleep 30\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(_git, "_TIMEOUT_S", 0.3)
    begin = time.monotonic()
    with make() as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
        assert time.monotonic() - begin < 0.25
    assert "commit" not in server.of("batch_start")[0]["data"]["env_snapshot"]
    assert len(server.events) == 5


def test_a_working_folder_that_was_deleted_is_no_reason_to_fail(server: FakeIngest) -> None:
    body = """
import tempfile
folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)
with svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0.05):
    time.sleep(0.2)
"""
    process.run(body, {"URL": server.url})
    assert server.types()[-1] == "batch_done"
