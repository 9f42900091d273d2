"""The agent reruns what it can prove: what a reporter recorded on this host, or what the batch's owner gave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from svc_agent._records import is_recorded, record_name
from svc_agent._secrets import SecretNotSet, fill_in, hide, names_in

from .kit.host import Host, write_run_record
from .test_running import REPORTER

REFUSED = ("failed", "command_not_recorded_here")

TRAIN = """
import socket, sys
import svc_reporter as svc
with svc.Reporter("PROJECT", batch_id=None, stop_poll_s=0, heartbeat_s=0, resources_s=0) as run:
    print(run.batch_id)
    with open("ran", "a") as file:
        print(*sys.argv[1:], file=file)
"""


def outcome(command: dict[str, Any]) -> tuple[str, str | None]:
    return command["state"], command["failure_reason"]


def train(host: Host, *arguments: str) -> str:
    """Runs a training with the real reporter on this host; returns its batch."""
    script = TRAIN.replace("PROJECT", f"of-{host.name}").replace("import socket,", "import socket\nimport")
    script = f"import socket\nsocket.gethostname = lambda: {host.name!r}\n" + script
    (host.work / "train.py").write_text(script)
    env = host.env(PYTHONPATH=str(REPORTER), SVC_URL=host.service.url, SVC_TOKEN=host.person.reporter)
    done = subprocess.run(
        [sys.executable, "train.py", *arguments], cwd=host.work, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_command_recorded_by_the_reporter_runs_and_its_rerun_can_be_run_again(host: Host) -> None:
    batch = train(host, "--name", 'it\'s a "test" $HOME')
    host.run(env=host.env(PYTHONPATH=f"{host.env()['PYTHONPATH']}:{REPORTER}"))
    for _ in range(2):
        cmd_id = host.service.rerun(host.person, batch)
        command = host.until_state(batch, cmd_id, "done", "failed")
        assert outcome(command) == ("done", None)
        [batch] = command["linked_batch_ids"]
    assert (host.work / "ran").read_text() == '--name it\'s a "test" $HOME\n' * 3


def test_a_leaked_token_that_invents_a_batch_runs_nothing(host: Host) -> None:
    host.run()
    batch = host.service.ran(host.person, host.name, "touch was-here", host.work)
    cmd_id = host.service.rerun(host.person, batch)
    assert outcome(host.until_state(batch, cmd_id, "done", "failed")) == REFUSED
    assert not (host.work / "was-here").exists()
    failed = [step for step in host.service.timeline(host.person, batch) if step["step"] == "failed"]
    assert [step["detail"]["failure_reason"] for step in failed] == ["command_not_recorded_here"]
    assert "no reporter on this host has recorded that command" in host.log()


def test_a_leaked_token_that_rewrites_a_batch_cannot_run_its_own_command(host: Host) -> None:
    batch = host.ran("echo mine >> ran")
    host.run()
    evil: dict[str, Any] = {
        "command": "touch was-here",
        "env_snapshot": {"command": "touch was-here", "cwd": str(host.work)},
    }
    host.service.report(host.person.reporter, batch, host.name, "batch_start", n_total=1, **evil)
    cmd_id = host.service.rerun(host.person, batch)
    assert outcome(host.until_state(batch, cmd_id, "done", "failed")) == ("done", None)
    assert (host.work / "ran").read_text() == "mine\n"
    assert not (host.work / "was-here").exists()


def test_a_record_with_another_folder_is_no_proof(host: Host) -> None:
    host.run()
    batch = host.service.ran(host.person, host.name, "touch was-here", host.work)
    write_run_record(host.home, batch, "touch was-here", host.home)
    cmd_id = host.service.rerun(host.person, batch)
    assert outcome(host.until_state(batch, cmd_id, "done", "failed")) == REFUSED


def test_a_command_given_by_the_owner_in_a_session_needs_no_record(host: Host) -> None:
    host.run()
    batch = host.service.ran(host.person, host.name, "touch recorded", host.work)
    cmd_id = host.service.rerun(host.person, batch, command="touch given")
    assert outcome(host.until_state(batch, cmd_id, "done", "failed")) == ("done", None)
    assert (host.work / "given").exists()


def test_another_folder_given_by_the_owner_runs_the_recorded_command_only(host: Host) -> None:
    host.run()
    (host.home / "else").mkdir()
    recorded = host.ran("touch here")
    cmd_id = host.service.rerun(host.person, recorded, cwd=str(host.home / "else"))
    assert outcome(host.until_state(recorded, cmd_id, "done", "failed")) == ("done", None)
    assert (host.home / "else" / "here").exists()
    invented = host.service.ran(host.person, host.name, "touch evil", host.work)
    cmd_id = host.service.rerun(host.person, invented, cwd=str(host.home / "else"))
    assert outcome(host.until_state(invented, cmd_id, "done", "failed")) == REFUSED


def test_without_the_check_the_agent_runs_it_and_logs_a_warning(host: Host) -> None:
    host.run("--require-record=no")
    batch = host.service.ran(host.person, host.name, "touch was-here", host.work)
    cmd_id = host.service.rerun(host.person, batch)
    assert outcome(host.until_state(batch, cmd_id, "done", "failed")) == ("done", None)
    assert "--require-record=no" in host.log()


def test_records_that_others_may_have_written_count_for_nothing(tmp_path: Path) -> None:
    path = write_run_record(tmp_path, "b", "python a.py", "/work")
    folders = [tmp_path / ".svc-reporter"]
    job = {"batch_id": "b", "command": "python a.py", "cwd": "/work"}
    assert is_recorded(job, folders)
    path.chmod(0o622)
    assert not is_recorded(job, folders)
    path.chmod(0o600)
    path.parent.chmod(0o777)
    assert not is_recorded(job, folders)
    path.parent.chmod(0o700)
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    assert not is_recorded(job, folders)


@pytest.mark.parametrize(
    "change",
    [
        {"command": "python b.py"},
        {"command": "python a.py "},
        {"cwd": "/"},
        {"cwd": None},
        {"batch_id": "c"},
        {"batch_id": None},
        {"command": None},
    ],
)
def test_every_part_of_a_record_must_agree(tmp_path: Path, change: dict[str, Any]) -> None:
    write_run_record(tmp_path, "b", "python a.py", "/work")
    job = {"batch_id": "b", "command": "python a.py", "cwd": "/work"}
    assert is_recorded(job, [tmp_path / ".svc-reporter"])
    assert not is_recorded({**job, **change}, [tmp_path / ".svc-reporter"])


def test_a_record_whose_hash_is_of_another_command_is_no_proof(tmp_path: Path) -> None:
    write_run_record(tmp_path, "b", "python a.py", "/work", hash="0" * 64)
    assert not is_recorded({"batch_id": "b", "command": "python a.py", "cwd": "/work"}, [tmp_path / ".svc-reporter"])


def test_an_earlier_command_of_a_resumed_run_counts(tmp_path: Path) -> None:
    path = write_run_record(tmp_path, "b", "python a.py", "/work")
    first = json.loads(path.read_text())
    write_run_record(tmp_path, "b", "python a.py --resume", "/work", earlier=[first])
    for command in ("python a.py", "python a.py --resume"):
        assert is_recorded({"batch_id": "b", "command": command, "cwd": "/work"}, [tmp_path / ".svc-reporter"])


def test_the_agent_finds_records_where_the_reporter_puts_them() -> None:
    ids = ["a", "a/b", "../b", "ünï 😀", "x" * 300, "CON", "con.json", ".hidden", "a,b=1", "~", "sweep-2026"]
    script = (
        "import json, sys; from svc_reporter._disk.run_record import record_name;"
        "print(json.dumps([record_name(each) for each in json.loads(sys.argv[1])]))"
    )
    env = {**os.environ, "PYTHONPATH": str(REPORTER)}
    done = subprocess.run([sys.executable, "-c", script, json.dumps(ids)], env=env, capture_output=True, check=True)
    assert [record_name(each) for each in ids] == json.loads(done.stdout)


# Secrets by reference


@pytest.mark.parametrize(
    "command",
    [
        "printf %s {{env:KEY}}",
        'printf %s "{{env:KEY}}"',
        "printf %s '{{env:KEY}}'",
        "printf %s \\''{{env:KEY}}' | cut -c2- | tr -d '\\n'",
        "A={{env:KEY}} sh -c 'printf %s \"$A\"'",
    ],
)
def test_a_reference_is_one_word_with_any_quoting(command: str) -> None:
    value = 'it\'s "a" $secret `x` * \\ end'
    env = {"PATH": os.environ["PATH"], "KEY": value}
    filled = fill_in(command, env)
    assert value not in filled
    done = subprocess.run(["/bin/sh", "-c", filled], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == value


def test_a_command_without_references_is_unchanged() -> None:
    for command in ("echo '{{x}}' \"$A\" \\'", "echo {{env:}} {{env:1A}} {{ env:A }}", "a \\"):
        assert fill_in(command, {}) == command


@pytest.mark.parametrize("name", ["MISSING", "SVC_TOKEN"])
def test_a_secret_that_a_process_may_not_have_is_refused(name: str) -> None:
    with pytest.raises(SecretNotSet, match=name):
        fill_in(f"echo {{{{env:{name}}}}}", {"SVC_TOKEN": "em_live_x"})


def test_output_shows_the_reference_in_place_of_the_value() -> None:
    assert names_in("{{env:B}} {{env:A}} {{env:B}}") == ["A", "B"]
    assert hide("x hunter22 hunter2 y", ["A", "B"], {"A": "hunter2", "B": "hunter22"}) == "x {{env:B}} {{env:A}} y"


def test_a_secret_is_filled_in_on_the_host_and_stored_nowhere(host: Host) -> None:
    secret = "s3cret-value-of-the-key"
    batch = train(host)
    host.run(env=host.env(PYTHONPATH=f"{host.env()['PYTHONPATH']}:{REPORTER}", MY_KEY=secret))
    given = f"{sys.executable} train.py --api-key {{{{env:MY_KEY}}}} && echo key={{{{env:MY_KEY}}}}"
    cmd_id = host.service.rerun(host.person, batch, command=given)
    command = host.until_state(batch, cmd_id, "done", "failed")
    assert outcome(command) == ("done", None)
    assert (host.work / "ran").read_text().splitlines()[-1] == f"--api-key {secret}"
    assert command["output_tail"].endswith("key={{env:MY_KEY}}\n")
    [again] = command["linked_batch_ids"]
    shown = host.service.ok("GET", f"/api/batches/{again}", host.person.session)
    assert shown["command"].endswith("train.py --api-key '{{env:MY_KEY}}'")
    assert "command_redacted" not in shown["env_snapshot"]
    kept = [path for path in host.folder.rglob("*.json") if secret in path.read_text()]
    assert kept == []
    # The record names the secret, so it can be rerun without changes.
    cmd_id = host.service.rerun(host.person, again)
    assert outcome(host.until_state(again, cmd_id, "done", "failed")) == ("done", None)
    assert (host.work / "ran").read_text().splitlines()[-1] == f"--api-key {secret}"


def test_a_secret_that_the_agent_lacks_is_refused_with_that_reason(host: Host) -> None:
    host.run()
    batch = host.service.ran(host.person, host.name, "true", host.work)
    cmd_id = host.service.rerun(host.person, batch, command="echo {{env:NOT_THERE}}")
    assert outcome(host.until_state(batch, cmd_id, "done", "failed")) == ("failed", "secret_not_set")
    assert "NOT_THERE" in host.log()
