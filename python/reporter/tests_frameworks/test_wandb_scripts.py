"""Scripts of the kinds that public repositories have, under wandb offline and under `import svc_reporter as wandb`.

Both end with the same status, print the same, and record the same values at the same steps. Under wandb all of them
run in one process, because its import takes seconds.
"""

from __future__ import annotations

import json
import math
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.kit.real_server import RealServer
from tests.test_from_wandb import BARE

from .test_from_wandb import records_of

SCRIPTS = sorted((Path(__file__).parent / "wandb_scripts").glob("*.py"))
Points = dict[str, list[tuple[int, Any]]]
RUN_ALL = """
import contextlib, io, json, os, runpy, sys
from pathlib import Path
import wandb
scripts = sys.argv[1:]
for script in scripts:
    sys.argv = [script]
    folder = Path(script).stem
    os.mkdir(folder)
    os.chdir(folder)
    out, status = io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        status = error.code or 0
    except Exception:
        status = 1
    wandb.finish()
    os.chdir("..")
    Path(folder, "result.json").write_text(json.dumps([status, out.getvalue()]))
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    copies = []
    for path in SCRIPTS:
        copies.append(folder / path.name)
        copies[-1].write_text(path.read_text().replace('"digits"', repr(path.stem)))
    command = [sys.executable, "-c", RUN_ALL, *map(str, copies)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_there_are_twenty_scripts() -> None:
    assert len(SCRIPTS) >= 20


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_does_the_same_under_both(service: RealServer, tmp_path: Path, theirs: Path, path: Path) -> None:
    project = f"digits-{secrets.token_hex(4)}"
    script = path.read_text().replace('"digits"', repr(project))
    (tmp_path / "train.py").write_text(script.replace("import wandb", "import svc_reporter as wandb"))
    env = {**BARE, "HOME": str(tmp_path), "WANDB_SILENT": "true", "SVC_WATCHDOG": "0"}
    env |= {"SVC_URL": service.url, "SVC_TOKEN": service.token}
    ours = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=90, check=False
    )
    status, out = json.loads((theirs / path.stem / "result.json").read_text())
    assert ours.returncode == status, ours.stderr[-2000:]
    assert ours.stdout == out
    assert here(service, project) == there(theirs, path.stem)


def there(folder: Path, project: str) -> Points:
    points: Points = {}
    for file in sorted(folder.glob("**/offline-run-*/*.wandb")):
        records = list(records_of(file))
        if not any(record.run.project == project for record in records):
            continue
        for record in records:
            items = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
            step = int(items.get("_step", "0"))
            for name, text in items.items():
                value = json.loads(text)
                if f"{name.rpartition('/')[0]}/_type" in items:
                    continue  # a field of a table or another value with content of its own
                if not name.startswith("_") and isinstance(value, (int, float)):
                    points.setdefault(name, []).append((step, as_number(value)))
    return {name: sorted(found, key=repr) for name, found in points.items()}


def here(service: RealServer, project: str) -> Points:
    points: Points = {}
    for batch in service.call("GET", f"/api/batches?project={project}")["items"]:
        for one in service.call("GET", f"/api/batches/{batch['id']}/metrics")["series"]:
            name = "epoch" if one["key"] == "axis/epoch" else one["key"]
            found = zip(one["steps"], one["values"], strict=True)
            points.setdefault(name, []).extend((step, as_number(value)) for step, value in found)
    return {name: sorted(found, key=repr) for name, found in points.items()}


def as_number(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
