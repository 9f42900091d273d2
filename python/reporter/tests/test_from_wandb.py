"""The scripts of docs/from-wandb.md: those that say `# here` are run, each in a process of its own."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .kit.real_server import ROOT, RealServer

PAGE = (ROOT / "docs" / "from-wandb.md").read_text("utf-8")
SECTIONS = re.findall(r"^## \d+\. (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
BARE = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "python" / "reporter" / "src")}
BLOCK = re.compile(r"```python\n(.*?)```", re.S)


def script_of(title: str, kind: str) -> str:
    [found] = [
        block for name, body in SECTIONS if name == title for block in BLOCK.findall(body) if block.startswith(kind)
    ]
    return str(found)


def run(real_server: RealServer, tmp_path: Path, title: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Runs the script in a project of its own, and returns the id of the batch that it began."""
    project = f"digits-{secrets.token_hex(4)}"
    script = tmp_path / "script.py"
    script.write_text(script_of(title, "# here").replace('"digits"', repr(project)))
    env = {**BARE, "HOME": str(tmp_path), "SVC_URL": real_server.url, "SVC_TOKEN": real_server.token}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=90, check=False
    )
    [batch] = real_server.call("GET", f"/api/batches?project={project}")["items"]
    return done, str(batch["id"])


def of_batch(real_server: RealServer, batch_id: str, part: str = "") -> Any:
    return real_server.call("GET", f"/api/batches/{batch_id}{part}")


def series_of(real_server: RealServer, batch_id: str) -> dict[str, dict[int, Any]]:
    found = of_batch(real_server, batch_id, "/metrics")["series"]
    return {one["key"]: dict(zip(one["steps"], one["values"], strict=True)) for one in found}


def test_there_are_ten_pairs_of_scripts_that_compile() -> None:
    assert len(SECTIONS) == 10
    for title, body in SECTIONS:
        ours, theirs = script_of(title, "# here"), script_of(title, "# W&B")
        assert len(BLOCK.findall(body)) == 2
        compile(ours, title, "exec")
        compile(theirs, title, "exec")


def test_the_first_run(real_server: RealServer, tmp_path: Path) -> None:
    done, batch_id = run(real_server, tmp_path, "The first run")
    assert done.returncode == 0, done.stderr
    batch = of_batch(real_server, batch_id)
    assert (batch["name"], batch["status"]) == ("baseline", "completed")
    assert len(series_of(real_server, batch_id)["loss"]) == 100


def test_arguments_as_the_configuration(real_server: RealServer, tmp_path: Path) -> None:
    done, batch_id = run(real_server, tmp_path, "Arguments as the configuration")
    assert done.stdout == "0.0003\n"
    batch = of_batch(real_server, batch_id)
    assert batch["config"] == {"lr": 3e-4, "depth": 4, "parameters": 12_345}
    assert batch["tags"] == ["night"]


def test_training_by_steps_validation_by_epochs(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "Training by steps, validation by epochs")
    series = series_of(real_server, batch_id)
    assert list(series["loss"]) == list(range(150))
    assert series["val/acc"] == {0: 0.5, 1: 0.6, 2: 0.7}
    assert series["axis/epoch"] == {50: 0, 100: 1, 150: 2}


def test_the_best_value(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "The best value")
    acc = {"last": 0.7, "min": 0.4, "max": 0.9, "best": 0.9}
    assert of_batch(real_server, batch_id)["summary"] == {"acc": acc, "best_acc": 0.9}


def test_a_block_that_may_fail(real_server: RealServer, tmp_path: Path) -> None:
    done, batch_id = run(real_server, tmp_path, "A block that may fail")
    assert done.returncode == 1
    batch = of_batch(real_server, batch_id)
    assert (batch["status"], batch["failure_reason"]) == ("failed", "ValueError: the loss is NaN")
    assert "ValueError: the loss is NaN" in batch["traceback"]


def test_cross_validation(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "Cross-validation")
    jobs = of_batch(real_server, batch_id, "/jobs")["items"]
    assert {(job["id"], job["params"]["fold"], job["epochs"], job["status"]) for job in jobs} == {
        (f"fold{n}", n, 5, "completed") for n in range(3)
    }


def test_a_sweep(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "A sweep")
    jobs = of_batch(real_server, batch_id, "/jobs")["items"]
    assert {job["params"]["lr"]: job["latest"]["val_loss"] for job in jobs}[0.01] == 0


def test_an_alert(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "An alert")
    [line] = of_batch(real_server, batch_id, "/log-lines?level=error")["items"]
    assert line["line"] == "Loss exploded: 1e9 at step 0"


def test_tokens_on_the_x_axis_and_what_was_printed(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "Tokens on the x-axis, and what was printed")
    assert list(series_of(real_server, batch_id)["loss"]) == [0, 2048, 4096, 6144]
    assert of_batch(real_server, batch_id, "/jobs")["items"][0]["step_unit"] == "tokens"
    lines = of_batch(real_server, batch_id, "/log-lines?stream=stdout")["items"]
    assert [line["line"] for line in lines] == [f"step {n}" for n in range(4)]


def test_reading_back(real_server: RealServer, tmp_path: Path) -> None:
    _, batch_id = run(real_server, tmp_path, "The first run")
    project = of_batch(real_server, batch_id)["project"]
    made = real_server.call("POST", "/api/tokens", {"name": "notebook", "scope": "read"})
    script = tmp_path / "read.py"
    script.write_text(script_of("Reading back", "# here").replace('"digits"', repr(project)))
    env = {**BARE, "HOME": str(tmp_path), "SVC_URL": real_server.url, "SVC_READ_TOKEN": made["token"]}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("baseline None 0.01\n")


@pytest.mark.parametrize("word", ["name=", "define_metric", "summary", "alert", "sync"])
def test_the_first_table_has_the_common_features(word: str) -> None:
    table = PAGE.split("\n## 1.")[0]
    assert word in table
