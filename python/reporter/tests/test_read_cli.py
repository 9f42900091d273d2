"""The commands of `svc-reporter` that read, against the real service."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import svc_reporter as svc

from .kit.real_server import RealServer

# Whole processes against the real service.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


class Runs(NamedTuple):
    project: str
    good: str
    bad: str


@pytest.fixture(scope="module")
def cli(real_server: RealServer) -> Cli:
    read = real_server.call("POST", "/api/tokens", {"name": "command line", "scope": "read"})["token"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    env |= {"SVC_URL": real_server.url, "SVC_READ_TOKEN": read, "PYTHONPATH": str(ROOT / "src"), "BROWSER": "true"}

    def run(*words: str, **more: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "svc_reporter", *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={**env, **more},
            stdin=subprocess.DEVNULL,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="module")
def runs(real_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    project = f"cli-{secrets.token_hex(4)}"
    ids = []
    os.environ["SVC_REPORTER_DIR"] = str(tmp_path_factory.mktemp("reporter"))
    try:
        for lr, curve in ((0.1, [0.9, 0.2, 0.5]), (0.01, [0.9, 0.4, float("nan")])):
            config = {"optim": {"lr": lr}, "seed": 1}
            with svc.Reporter(
                project,
                url=real_server.url,
                token=real_server.token,
                config=config,
                resources_s=0,
                stop_poll_s=0,
                heartbeat_s=0,
            ) as run:
                ids.append(run.batch_id)
                with run.job("fit", model="cnn", lr=lr) as job:
                    for epoch, value in enumerate(curve):
                        job.epoch(epoch, val_loss=value)
                        job.log(f"epoch {epoch} \x1b[31mred", level="info")
                if lr == 0.01:
                    try:
                        with run.job("broken"):
                            raise RuntimeError("CUDA out of memory")
                    except RuntimeError:
                        pass
    finally:
        del os.environ["SVC_REPORTER_DIR"]
    return Runs(project, *ids)


def test_runs_are_listed_found_and_sorted_by_the_language_of_the_page(cli: Cli, runs: Runs) -> None:
    found = cli("ls", "--project", runs.project, "--metric", "val_loss", "--sort", "min.val_loss", "--order", "asc")
    assert found.status == 0, found.err
    lines = found.out.splitlines()
    assert lines[0].split()[:1] == ["RUN"]
    assert lines[0].split()[-1] == "val_loss"
    assert [line.split()[0] for line in lines[1:]] == [runs.good, runs.bad]
    assert [line.split()[-1] for line in lines[1:]] == ["0.2", "0.4"]
    one = cli("ls", "lr<0.05", "--project", runs.project, "--json")
    assert [run["id"] for run in one.json()] == [runs.bad]
    none = cli("ls", "lr>7", "--project", runs.project)
    assert (none.status, none.out) == (1, "")
    assert cli("ls", "lr>7", "--project", runs.project, "--json").json() == []
    unknown = cli("ls", "lerning_rate<1", "--project", runs.project)
    assert unknown.status == 1
    assert "lerning_rate" in unknown.err
    limited = cli("ls", "--project", runs.project, "--limit", "1")
    assert limited.status == 0
    assert "--limit" in limited.err


def test_one_run_its_best_value_and_its_points(cli: Cli, runs: Runs) -> None:
    shown = cli("show", runs.good)
    assert shown.status == 0
    assert "config.optim.lr" in shown.out
    assert "fit" in shown.out
    whole = cli("show", runs.good, "--json").json()
    assert whole["config"]["optim"]["lr"] == 0.1
    assert whole["jobs"][0]["id"] == "fit"
    job = cli("show", runs.good, "fit")
    assert job.status == 0
    assert "best.val_loss" in job.out
    assert cli("show", runs.good, "fit", "--json").json()["best"]["val_loss"] == 0.2

    best = cli("best", "--metric", "val_loss", "--project", runs.project, "--json").json()
    assert (best["batch"]["id"], best["job_id"], best["step"], best["value"]) == (runs.good, "fit", 1, 0.2)
    text = cli("best", "lr<0.05", "--metric", "val_loss", "--project", runs.project)
    assert text.status == 0
    assert runs.bad in text.out
    assert cli("best", "--metric", "vall_loss", "--project", runs.project).status == 1

    points = cli("metrics", runs.bad, "--metric", "val_loss", "--json").json()
    assert [(one["step"], one["value"]) for one in points] == [(0, 0.9), (1, 0.4), (2, "NaN")]
    table = cli("metrics", runs.bad, "--limit", "2")
    assert table.out.splitlines()[0].split()[:2] == ["JOB", "STEP"]
    assert "left out" in table.err
    assert len(cli("metrics", runs.bad, "--all").out.splitlines()) == 4


def test_logs_failures_and_differences(cli: Cli, runs: Runs) -> None:
    logs = cli("logs", runs.good, "--grep", "epoch 1")
    assert logs.status == 0
    assert "epoch 1" in logs.out
    assert "\x1b" not in logs.out
    lines = [json.loads(line) for line in cli("logs", runs.good, "--json").out.splitlines()]
    assert [line["line"].split(" \x1b")[0] for line in lines] == ["epoch 0", "epoch 1", "epoch 2"]
    assert cli("logs", runs.good, "--grep", "epoch 7").status == 1

    failed = cli("failures", "--project", runs.project)
    assert failed.status == 0
    assert "broken" in failed.out
    assert "out of memory" in failed.out
    assert cli("failures", runs.bad, "--json").json()[0]["id"] == "broken"
    assert cli("failures", runs.good).status == 1

    compared = cli("compare", runs.good, runs.bad)
    assert compared.status == 0
    row = next(line for line in compared.out.splitlines() if line.startswith("best val_loss"))
    assert row.split()[-2:] == ["0.2", "0.4"]
    assert [one["best"] for one in cli("compare", runs.good, runs.bad, "--json").json()] == [
        {"val_loss": 0.2},
        {"val_loss": 0.4},
    ]
    different = cli("diff", runs.good, runs.bad, "--json")
    assert different.status == 0
    assert different.json()["config.optim.lr"] == [0.1, 0.01]
    assert "config.seed" not in different.json()
    assert "config.optim.lr" in cli("diff", runs.good, runs.bad).out
    assert cli("diff", runs.good, runs.good).status == 1


def test_a_run_is_watched_and_opened(cli: Cli, runs: Runs, real_server: RealServer) -> None:
    watched = cli("watch", runs.good, "--timeout", "20")
    assert watched.status == 0
    assert f"{runs.good}: completed" in watched.out
    opened = cli("open", runs.good)
    assert (opened.status, opened.out) == (0, f"{real_server.url}/b/{runs.good}\n")
    assert cli("open", "--project", runs.project, "--json").json() == {"url": f"{real_server.url}/p/{runs.project}"}
    assert cli("open", "no-such-run").status == 1


def test_the_exit_status_says_what_went_wrong(cli: Cli, runs: Runs) -> None:
    for words in (
        ["show", "no-such-run"],
        ["metrics", "no-such-run"],
        ["logs", "no-such-run"],
        ["watch", "no-such-run"],
    ):
        assert cli(*words).status == 1, words
    for words in (["ls", "--colour"], ["best"], ["ls", "lr <"], ["ls", "--limit", "0"], ["diff", "one"], ["lsx"]):
        assert cli(*words).status == 2, words
    assert cli("ls", SVC_READ_TOKEN="em_read_" + "x" * 38).status == 3
    assert cli("ls", "--url", "http://127.0.0.1:9").status == 3
    assert cli("ls", SVC_URL="").status == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(cli: Cli, shell: str, tmp_path: Path) -> None:
    script = cli("completion", shell)
    assert script.status == 0
    assert all(word in script.out for word in ("failures", "compare", "artifact"))
    if shutil.which(shell) is None:
        return
    (tmp_path / "script").write_text(script.out)
    if shell != "bash":
        checked = subprocess.run([shell, "--no-execute", str(tmp_path / "script")], capture_output=True, timeout=20)
        assert checked.returncode == 0, checked.stderr
        return
    tried = """. "$1"
for words in "svc-reporter fai" "svc-reporter logs --le"; do
  COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _svc_reporter; echo "${COMPREPLY[@]}"
done"""
    done = subprocess.run(
        ["bash", "-c", tried, "-", str(tmp_path / "script")], capture_output=True, text=True, timeout=20
    )
    assert done.stdout.splitlines() == ["failures", "--level"]
