"""Runs in a real kernel: what later cells print, errors of cells, and a restart of the kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import svc_reporter as svc

Make = Callable[..., svc.Reporter]

INIT = """
import svc_reporter as svc
run = svc.init("frameworks", batch_id="{id}", resources_s=0, stop_poll_s=0, environment=False)
run.log({{"loss": 1.0}})
print("cell 1")
"""


def _client(*cells: str) -> NotebookClient:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return NotebookClient(notebook, kernel_name="python3", timeout=60)


def _outputs(client: NotebookClient) -> list[str]:
    return ["".join(out.get("text", "") for out in cell.outputs if out.name == "stdout") for cell in client.nb.cells]


def _lines(service: Any, batch_id: str) -> list[str]:
    found = service.call("GET", f"/api/batches/{batch_id}/log-lines?limit=500")["items"]
    return [line["line"] for line in found]


@pytest.fixture
def kernel_env(monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    make()  # the address and token of the service
    monkeypatch.setenv("SVC_WATCHDOG", "1")


def test_lines_of_every_cell_are_in_the_log_once_and_the_notebook_shows_them_once(
    service: Any, stored: Any, kernel_env: None
) -> None:
    later = ["print('cell 2')", "import sys; print('cell 3', file=sys.stderr)\nprint('cell 3')", "print('cell 4')"]
    client = _client(INIT.format(id="nb-lines"), *later)
    client.execute()
    assert _outputs(client) == ["cell 1\n", "cell 2\n", "cell 3\n", "cell 4\n"]
    batch = stored("nb-lines").wait(lambda b: b.status != "running")
    assert batch.status == "completed"
    lines = [line for line in _lines(service, "nb-lines") if line.startswith("cell")]
    assert sorted(lines) == ["cell 1", "cell 2", "cell 3", "cell 3", "cell 4"]


def test_a_run_that_a_restart_of_the_kernel_cut_off_is_not_completed(
    service: Any, stored: Any, kernel_env: None
) -> None:
    client = _client(INIT.format(id="nb-restart"))
    with client.setup_kernel():
        client.execute_cell(client.nb.cells[0], 0)
        assert client.km is not None
        run_sync(client.km.restart_kernel)(now=False)
    batch = stored("nb-restart").wait(lambda b: b.status != "running")
    assert batch.status == "failed"
    reason = service.call("GET", "/api/batches/nb-restart")["failure_reason"]
    assert reason == "the kernel of the notebook was restarted before the run was finished"
    assert batch.curve("main", "loss") == [(0, 1.0)]


def test_a_finished_run_stays_completed_when_the_kernel_restarts(stored: Any, kernel_env: None) -> None:
    client = _client(INIT.format(id="nb-done") + "run.finish()")
    with client.setup_kernel():
        client.execute_cell(client.nb.cells[0], 0)
        assert client.km is not None
        run_sync(client.km.restart_kernel)(now=False)
    assert stored("nb-done").wait(lambda b: b.status != "running").status == "completed"


def test_a_cell_that_raises_at_the_end_fails_the_run(service: Any, stored: Any, kernel_env: None) -> None:
    client = _client(INIT.format(id="nb-error"), "raise ValueError('bad')")
    with pytest.raises(CellExecutionError):
        client.execute()
    batch = stored("nb-error").wait(lambda b: b.status != "running")
    assert batch.status == "failed"
    assert "bad" in service.call("GET", "/api/batches/nb-error")["failure_reason"]


def test_an_empty_batch_id_is_none(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "")
    assert make(batch_id=os.environ["SVC_BATCH_ID"]).batch_id.startswith("train-")
