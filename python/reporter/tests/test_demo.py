"""`svc-reporter demo` sends a whole run, also from the wheel's file alone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from .kit.fake_ingest import FakeIngest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "svc_reporter"


def test_the_demo_runs_from_a_zip_and_reports_every_step(server: FakeIngest, tmp_path: Path) -> None:
    archive = tmp_path / "svc_reporter.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        for file in SOURCE.rglob("*.py"):
            wheel.write(file, f"svc_reporter/{file.relative_to(SOURCE)}")
    env = {**os.environ, "PYTHONPATH": str(archive), "SVC_URL": server.url, "SVC_TOKEN": "em_live_test"}
    done = subprocess.run(
        [sys.executable, "-m", "svc_reporter", "demo", "--seconds", "0.5"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "step 50: val_loss" in done.stdout
    losses = [event["data"]["val_loss"] for event in server.of("job_epoch")]
    assert len(losses) == 60
    assert losses[-1] < losses[0] / 10
    assert server.types()[-1] == "batch_done"


def test_without_an_address_or_a_token_the_demo_prints_what_is_missing(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    done = subprocess.run(
        [sys.executable, "-m", "svc_reporter", "demo"],
        env={**env, "PYTHONPATH": str(SOURCE.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "set SVC_URL and SVC_TOKEN" in done.stderr
