"""Scripts of the kinds that public repositories have, under wandb offline and under `import svc_reporter as wandb`.

Both end with the same status, print the same, and record the same: values at the same steps, media, configuration,
summary, the end of the run, names, tags, notes, alerts, files and artifacts.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.real_server import RealServer
from tests.test_from_wandb import BARE

from .recorded import of_service, of_wandb

SCRIPTS = sorted((Path(__file__).parent / "wandb_scripts").glob("*.py"))
RUN_ALL = """
import json, os, runpy, sys
from pathlib import Path
import wandb
from wandb.sdk.data_types._private import MEDIA_TMP

def wait(left):
    while len(running) > left:
        pid, code = os.wait()
        folder = running.pop(pid)
        result = [os.waitstatus_to_exitcode(code), Path(folder, ".printed").read_text()]
        Path(folder, "result.json").write_text(json.dumps(result))

running = {}
for script in sys.argv[1:]:
    folder = Path(script).stem
    os.mkdir(folder)
    pid = os.fork()
    if pid == 0:
        sys.argv = [script]
        os.chdir(folder)
        os.mkdir(".unsaved")
        MEDIA_TMP.name = os.path.abspath(".unsaved")  # the first child removes the common one at its end
        os.dup2(os.open(".printed", os.O_WRONLY | os.O_CREAT), 1)
        break
    running[pid] = folder
    wait(1)
else:
    wait(0)
    sys.exit()
runpy.run_path(script, run_name="__main__")
"""
"""Each script in a child, which has wandb imported, and ends as the script does. Two at a time."""


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
    assert len(SCRIPTS) >= 20  # since then as many again


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_does_the_same_under_both(service: RealServer, tmp_path: Path, theirs: Path, path: Path) -> None:
    project = f"digits-{secrets.token_hex(4)}"
    script = path.read_text().replace('"digits"', repr(project))
    (tmp_path / "train.py").write_text(as_ours(script))
    env = {**BARE, "HOME": str(tmp_path), "WANDB_SILENT": "true", "SVC_WATCHDOG": "0"}
    env |= {"SVC_URL": service.url, "SVC_TOKEN": service.token}
    ours = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=90, check=False
    )
    status, out = json.loads((theirs / path.stem / "result.json").read_text())
    assert ours.returncode == status, ours.stderr[-2000:]
    assert ours.stdout == out
    found, expected = of_service(service, project), of_wandb(theirs, path.stem)
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        named = {key: value for key, value in mine.summary.items() if key in other.summary}
        assert replace(mine, summary=named) == other


def as_ours(script: str) -> str:
    """The one changed line."""
    changed = script.replace("import wandb\n", "import svc_reporter as wandb\n")
    return changed.replace("from wandb import", "from svc_reporter import")
