"""What the real agent does with reruns from the real service."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from .kit.host import Host
from .kit.wait import until

REPORTER = Path(__file__).resolve().parents[2] / "reporter" / "src"


def test_a_rerun_is_started_acknowledged_and_reported_with_its_output(host: Host) -> None:
    host.run()
    batch, cmd_id = host.rerun("echo hello; echo trouble >&2; exit 3")
    command = host.until_state(batch, cmd_id, "done", "failed")
    assert (command["state"], command["exit_code"], command["failure_reason"]) == ("failed", 3, None)
    assert command["output_tail"] == "hello\ntrouble\n"
    steps = [step["step"] for step in host.service.timeline(host.person, batch)]
    assert steps == ["requested", "delivered", "acknowledged", "started", "exited"]


def test_the_process_leads_a_session_has_no_input_and_runs_in_the_recorded_folder(host: Host) -> None:
    host.run()
    script = "import os,sys; print(os.getsid(0) in (os.getppid(), os.getpid()), sys.stdin.read(), os.getcwd())"
    batch, cmd_id = host.rerun(f"{sys.executable} -c {shlex.quote(script)}")
    assert host.until_state(batch, cmd_id, "done")["output_tail"] == f"True  {host.work}\n"


def test_the_environment_has_everything_the_reporter_needs_and_no_secret_of_the_agent(host: Host) -> None:
    token = host.token_file()["agent_token"]
    secrets = {"SVC_AGENT_SECRET": "x", "COPY": f"key={token}", "SVC_TOKEN": token, "NOTIFY_SOCKET": "/run/x"}
    host.run(env=host.env(**secrets, KEPT="yes", SVC_REPORTER_DIR="/spill"))
    batch, cmd_id = host.rerun("env -0 > seen.env")
    host.until_state(batch, cmd_id, "done")
    content = (host.work / "seen.env").read_text()
    env = dict(pair.split("=", 1) for pair in content.split("\0") if pair)
    assert env["SVC_URL"] == host.service.url
    assert env["SVC_RERUN_OF"] == batch
    assert env["SVC_CMD_ID"] == cmd_id
    assert (env["KEPT"], env["SVC_REPORTER_DIR"]) == ("yes", "/spill")
    assert env["SVC_TOKEN"].startswith("em_live_")
    assert token not in content
    assert not {"SVC_AGENT_SECRET", "NOTIFY_SOCKET", "COPY"} & set(env)
    # It ended with the command.
    assert host.service.call("POST", "/api/events/batch", env["SVC_TOKEN"], []).status == 401


def test_a_missing_folder_or_an_unknown_command_is_a_stale_environment(host: Host) -> None:
    host.run()
    for command, cwd in (("true", "/nowhere/at/all"), ("no-such-command-here", None), ("./not-executable", None)):
        (host.work / "not-executable").write_text("")
        batch, cmd_id = host.rerun(command, cwd)
        found = host.until_state(batch, cmd_id, "failed", "done")
        assert (found["state"], found["failure_reason"]) == ("failed", "stale_env_path"), command
    slow, cmd_id = host.rerun("sleep 1.3; exit 127")
    found = host.until_state(slow, cmd_id, "failed")
    assert (found["exit_code"], found["failure_reason"]) == (127, None)


def test_ten_reruns_at_once_run_two_at_a_time_each_once(host: Host) -> None:
    host.run("--max-concurrent", "2")
    script = (
        'mkdir "now/$SVC_CMD_ID"; ls now | wc -l >> counts; echo "$SVC_CMD_ID" >> ran; '
        'sleep 0.5; rmdir "now/$SVC_CMD_ID"'
    )
    (host.work / "now").mkdir()
    batch = host.ran(script)
    cmd_ids = [host.service.rerun(host.person, batch) for _ in range(10)]
    for cmd_id in cmd_ids:
        host.until_state(batch, cmd_id, "done")
    assert sorted((host.work / "ran").read_text().split()) == sorted(cmd_ids)
    assert max(map(int, (host.work / "counts").read_text().split())) == 2


def test_nothing_runs_outside_the_allowed_roots(host: Host) -> None:
    (host.home / "outside").mkdir()
    (host.work / "way-out").symlink_to(host.home / "outside")
    host.run("--allow-root", str(host.work))
    for cwd in (host.home / "outside", host.work / "way-out", host.work / ".." / "outside"):
        batch, cmd_id = host.rerun("touch was-here", cwd)
        found = host.until_state(batch, cmd_id, "failed", "done")
        assert (found["state"], found["failure_reason"]) == ("failed", "cwd_not_allowed")
    assert list((host.home / "outside").iterdir()) == []
    batch, cmd_id = host.rerun("touch was-here", host.work)
    host.until_state(batch, cmd_id, "done")


def test_output_is_rotated_and_its_end_is_reported(host: Host) -> None:
    host.run()
    (host.work / "talk.py").write_text(
        "import time\nfor _ in range(5):\n    print('x' * 4_000_000, end='', flush=True)\n    time.sleep(0.6)\n"
        "print('the end')\n"
    )
    script = f"{sys.executable} talk.py"
    batch, cmd_id = host.rerun(script)
    found = host.until_state(batch, cmd_id, "done")
    assert found["output_tail"].endswith("xxx" + "the end\n")
    sizes = [path.stat().st_size for path in (host.runs / cmd_id).glob("output.log*")]
    assert len(sizes) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in (host.runs / cmd_id).glob("output.log*"))


def test_a_stop_gives_time_to_clean_up_and_then_kills_the_whole_group(host: Host) -> None:
    host.run("--stop-grace", "1")
    report = REPORT.format(batch="$SVC_CMD_ID", project=f"of-{host.name}")
    batch, cmd_id = host.rerun(
        f"{report} && trap 'echo asked >> asked' TERM; (trap '' TERM; sleep 600) & while :; do sleep 0.1; done"
    )
    host.until_state(batch, cmd_id, "in_flight")
    until(lambda: host.service.command(host.person, batch, cmd_id)["linked_batch_ids"], "for the new batch")
    pid = host.record(cmd_id, "child.json")["pid"]
    host.service.ok("POST", f"/api/batches/{cmd_id}/stop", host.person.session)
    found = host.until_state(batch, cmd_id, "failed", "done")
    assert (found["exit_code"], found["failure_reason"]) == (137, "stopped")
    assert (host.work / "asked").read_text() == "asked\n"
    assert not _group_lives(pid)
    steps = {s["step"]: s for s in host.service.timeline(host.person, cmd_id) if s["kind"] == "stop" and s["cmd_id"]}
    assert list(steps) == ["requested", "delivered", "acknowledged", "sigterm", "sigkill", "exited"]
    assert steps["exited"]["detail"] == {"exit_code": 137}
    assert steps["requested"]["actor"]["kind"] == "user"
    assert steps["sigkill"]["actor"] == {"kind": "agent", "id": host.token_file()["agent_id"], "name": host.name}


def test_a_rerun_of_failed_lost_and_missing_jobs_runs_only_those_in_a_new_batch(host: Host) -> None:
    (host.work / "train.py").write_text(TRAIN.replace("PROJECT", f"of-{host.name}"))
    # The batch ends last: a job that starts after its end counts as running, not as lost.
    jobs = {"a": "job_done", "b": "job_failed", "c": None}
    batch = host.ran(f"{sys.executable} train.py", n_total=4, jobs=jobs)
    host.run(env=host.env(PYTHONPATH=f"{host.env()['PYTHONPATH']}:{REPORTER}"))
    cmd_id = host.service.rerun(host.person, batch, jobs="failed")
    host.until_state(batch, cmd_id, "done")
    until(lambda: host.service.command(host.person, batch, cmd_id)["linked_batch_ids"], "for the new batch")
    [again] = host.service.command(host.person, batch, cmd_id)["linked_batch_ids"]
    shown = host.service.ok("GET", f"/api/batches/{again}", host.person.session)
    assert (shown["rerun_of"], shown["status"]) == (batch, "completed")
    ran = host.service.ok("GET", f"/api/batches/{again}/jobs", host.person.session)["items"]
    # d never began, so only the script knew its name.
    assert sorted(job["id"] for job in ran) == ["b", "c", "d"]


def _group_lives(pgid: int) -> bool:
    """Zombies do not count."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, group = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if group == str(pgid) and state not in "ZX":
            return True
    return False


# Reports the start of a batch as a reporter would, with what the environment gives it.
REPORT = (
    f'{sys.executable} -c "import json,os,time,urllib.request as u,uuid\n'
    "e=os.environ\n"
    "b=json.dumps(dict(event_id=str(uuid.uuid4()),schema_version='1.1',event_type='batch_start',"
    "timestamp=time.strftime('%Y-%m-%dT%H:%M:%SZ',time.gmtime()),batch_id='{batch}',job_id=None,"
    "source=dict(project='{project}'),data=dict(experiment_type='x',n_total=1,rerun_of=e['SVC_RERUN_OF']))).encode()\n"
    "u.urlopen(u.Request(e['SVC_URL']+'/api/events',b,"
    "{{'Content-Type':'application/json','Authorization':'Bearer '+e['SVC_TOKEN']}}))\""
)

TRAIN = """
import socket
import svc_reporter as svc
with svc.Reporter(project="PROJECT", n_total=4, stop_poll_s=0, heartbeat_s=0, resources_s=0) as run:
    for name in "abcd":
        if run.wants(name):
            with run.job(name) as job:
                job.epoch(0, train_loss=1.0)
"""
