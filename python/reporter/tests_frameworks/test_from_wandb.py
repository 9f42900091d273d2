"""The scripts of docs/from-wandb.md in both forms: wandb, offline, and svc_reporter record the same values.

Two of the ten need a server of W&B, `wandb.sweep` and `wandb.Api`; tests/test_from_wandb.py compiles those, and runs
all ten in our form.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.real_server import RealServer
from tests.test_from_wandb import SECTIONS, of_batch, run, script_of
from wandb.proto import wandb_internal_pb2

NEED_A_SERVER = ("A sweep", "Reading back")
NAMES = {"axis/epoch": "epoch"}
"""What a metric is called here, and there."""
OURS_ALONE = ("_step", "_timestamp", "_runtime", "_wandb", "tokens")
"""Of wandb's history: its own columns, and the metric that is the step here."""

Values = dict[str, list[float]]


@pytest.mark.parametrize("title", [title for title, _ in SECTIONS if title not in NEED_A_SERVER])
def test_both_forms_record_the_same(service: RealServer, tmp_path: Path, title: str) -> None:
    theirs, their_values = run_theirs(tmp_path, title)
    ours, batch_id = run(service, tmp_path, title)
    assert ours.stdout == theirs.stdout
    assert (ours.returncode, theirs.returncode) in ((0, 0), (1, 1)), theirs.stderr[-2000:]
    assert values_here(service, batch_id) == their_values


def run_theirs(folder: Path, title: str) -> tuple[subprocess.CompletedProcess[str], Values]:
    script = folder / "theirs.py"
    script.write_text(script_of(title, "# W&B"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    values: Values = {}
    for file in folder.glob("wandb/offline-run-*/*.wandb"):
        for record in records_of(file):
            for item in record.history.item:
                name = item.key or "/".join(item.nested_key)
                if name not in OURS_ALONE:
                    values.setdefault(name, []).append(float(item.value_json))
    return done, {name: sorted(found) for name, found in values.items()}


def values_here(service: RealServer, batch_id: str) -> Values:
    values: Values = {}
    for one in of_batch(service, batch_id, "/metrics")["series"]:
        values.setdefault(NAMES.get(one["key"], one["key"]), []).extend(one["values"])
    return {name: sorted(found) for name, found in values.items()}


def records_of(file: Path) -> Iterator[wandb_internal_pb2.Record]:
    """What an offline run's file holds: a header of 7 bytes, then LevelDB's log format."""
    content = file.read_bytes()
    at, parts = 7, b""
    while at + 7 <= len(content):
        left = 32_768 - at % 32_768
        if left < 7:  # the rest of a block is padding
            at += left
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        parts += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            parts = b""
            yield record
