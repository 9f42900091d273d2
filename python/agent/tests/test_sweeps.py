"""Workers of a sweep: one is started by hand, and the agent starts more by the command that it recorded."""

from __future__ import annotations

import subprocess
import sys

from .kit.host import Host
from .test_running import REPORTER

TRAIN = """
import sys
import svc_reporter as svc
with svc.init(quiet=True, console=False, environment=False) as run:
    assert sys.argv[1] == f"--lr={run.config.lr}"
    run.log({"loss": run.config.lr}, step=0)
"""


def test_an_agent_starts_more_workers_by_the_command_of_one(host: Host) -> None:
    service, person = host.service, host.person
    definition = {
        "name": "Rates",
        "method": "grid",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"lr": {"values": [0.3, 0.2, 0.1]}},
    }
    sweep = service.ok("POST", f"/api/projects/of-{host.name}/sweeps", person.reporter, definition)
    own = f"/api/sweeps/{sweep['id']}"
    (host.work / "train.py").write_text(TRAIN)
    (host.home / "site").mkdir()
    name = f"import socket\nsocket.gethostname = lambda: {host.name!r}\n"
    (host.home / "site" / "sitecustomize.py").write_text(name)
    path = f"{host.env()['PYTHONPATH']}:{REPORTER}:{host.home / 'site'}"
    worker = [sys.executable, "-m", "svc_reporter", "sweep", "run", "--count", "1", sweep["id"], "--"]
    env = host.env(PYTHONPATH=path, SVC_URL=service.url, SVC_TOKEN=person.reporter)
    done = subprocess.run(
        [*worker, sys.executable, "train.py", "{args}"],
        cwd=host.work,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    host.run(env=host.env(PYTHONPATH=path))
    [recorded] = service.ok("GET", own, person.session)["commands"]
    assert (recorded["host"], recorded["cwd"], recorded["redacted"]) == (host.name, str(host.work), False)
    wish = {"command_id": recorded["id"], "workers": 2}
    started = service.ok("POST", f"{own}/workers", person.session, wish)
    for cmd_id in started["cmd_ids"]:
        command = host.until_state(sweep["batch_id"], cmd_id, "done", "failed")
        assert (command["state"], command["failure_reason"]) == ("done", None), command["output_tail"]
    trials = service.ok("GET", f"{own}/trials", person.session)["items"]
    assert [(one["number"], one["state"], one["value"]) for one in reversed(trials)] == [
        (0, "completed", 0.3),
        (1, "completed", 0.2),
        (2, "completed", 0.1),
    ]


def test_a_command_that_only_the_service_has_is_not_run(host: Host) -> None:
    """A leaked token of a reporter could record any command; the host has no record of it."""
    service, person = host.service, host.person
    definition = {
        "name": "Rates",
        "method": "random",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"lr": {"values": [0.3, 0.2]}},
    }
    sweep = service.ok("POST", f"/api/projects/of-{host.name}/sweeps", person.reporter, definition)
    own = f"/api/sweeps/{sweep['id']}"
    evil = {"host": host.name, "command": "touch was-here", "cwd": str(host.work)}
    service.ok("POST", f"{own}/commands", person.reporter, evil)
    host.run()
    [recorded] = service.ok("GET", own, person.session)["commands"]
    started = service.ok("POST", f"{own}/workers", person.session, {"command_id": recorded["id"]})
    command = host.until_state(sweep["batch_id"], started["cmd_ids"][0], "done", "failed")
    assert (command["state"], command["failure_reason"]) == ("failed", "command_not_recorded_here")
    assert not (host.work / "was-here").exists()
