"""`svc.init` against the real service: what a script of a few lines leaves behind."""

from __future__ import annotations

import copy
import enum
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

import svc_reporter as svc
from svc_reporter._run.run import current_run

from .kit.fake_ingest import FakeIngest
from .kit.real_server import RealServer


def run_script(real_server: RealServer, tmp_path: Path, body: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A script of its own process, as a user starts it; `BATCH` in it is the batch's id."""
    script = tmp_path / "train.py"
    script.write_text("import svc_reporter as svc\n" + textwrap.dedent(body))
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "SVC_URL": real_server.url,
        "SVC_TOKEN": real_server.token,
    }
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**variables, **env},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def batch_of(real_server: RealServer, batch_id: str) -> dict[str, Any]:
    found: dict[str, Any] = real_server.call("GET", f"/api/batches/{quote(batch_id, safe='')}")
    return found


def jobs_of(real_server: RealServer, batch_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = real_server.call("GET", f"/api/batches/{batch_id}/jobs")["items"]
    return items


def series_of(real_server: RealServer, batch_id: str) -> dict[str, list[list[Any]]]:
    found = real_server.call("GET", f"/api/batches/{batch_id}/metrics")["series"]
    return {one["key"]: [[s, v] for s, v in zip(one["steps"], one["values"], strict=True)] for one in found}


def lines_of(real_server: RealServer, batch_id: str, **query: str) -> list[dict[str, Any]]:
    asked = "&".join(f"{name}={value}" for name, value in {"limit": "500", **query}.items())
    items: list[dict[str, Any]] = real_server.call("GET", f"/api/batches/{batch_id}/log-lines?{asked}")["items"]
    return items


def begin(real_server: RealServer, **arguments: Any) -> svc.Run:
    return svc.init("vision", url=real_server.url, token=real_server.token, **{"quiet": True, **arguments})


def test_a_run_counts_its_events_by_result(real_server: RealServer) -> None:
    run = begin(real_server)
    for step in range(20):
        run.log({"loss": 1.0}, step=step)
    assert run.flush(30)
    assert run.wants("another job")
    assert not run.stop_requested
    run.check_stop()
    run.finish()
    counts = run.delivery
    assert counts.produced == counts.accepted + counts.duplicate >= 20  # a slow answer makes a repeat
    assert (counts.spilled, counts.dropped, counts.rejected) == (0, 0, 0)


def test_two_lines_make_a_run_with_its_address_printed_first_and_last(real_server: RealServer, tmp_path: Path) -> None:
    done = run_script(
        real_server,
        tmp_path,
        """
        run = svc.init(project="vision", name="resnet18-baseline", config={"lr": 0.1, "hub_token": "s3cret-s3cret-1"},
                       tags=["night"], group="sweeps", notes="# Why", batch_id="two lines")
        for step in range(5):
            run.log({"loss": 1 / (step + 1), "lr": 0.1}, step=step)
        run.summary["best_acc"] = 0.93
        """,
    )
    assert done.returncode == 0, done.stderr
    address = f"{real_server.url}/b/two%20lines"
    said = [line for line in done.stderr.splitlines() if line.startswith("svc: ")]
    assert said == [
        f"svc: run resnet18-baseline: {address}",
        f"svc: run resnet18-baseline ended with the script: {address}",
    ]
    batch = batch_of(real_server, "two lines")
    assert batch["status"] == "completed"
    assert (batch["name"], batch["group"], batch["notes"], batch["tags"]) == (
        "resnet18-baseline",
        "sweeps",
        "# Why",
        ["night"],
    )
    assert batch["config"] == {"lr": 0.1, "hub_token": "***"}
    assert batch["summary"] == {
        "best_acc": 0.93,
        "loss": {"last": 0.2, "min": 0.2, "max": 1, "best": 0.2},
        "lr": {"last": 0.1, "min": 0.1, "max": 0.1},
    }
    [job] = jobs_of(real_server, "two%20lines")
    assert job["id"] == "main"
    assert job["step_unit"] == "step"
    assert job["params"] == {"lr": 0.1, "hub_token": "***"}
    assert job["metrics"] == {"best_acc": 0.93}
    assert job["epochs"] == 5


def test_a_script_that_raises_leaves_its_whole_chained_traceback(real_server: RealServer, tmp_path: Path) -> None:
    done = run_script(
        real_server,
        tmp_path,
        """
        run = svc.init("vision", batch_id="raises")
        run.log({"loss": 1})
        def inner():
            raise ValueError("bad batch with em_live_abcdefgh12345678")
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("the epoch failed") from error
        """,
    )
    assert done.returncode == 1
    assert "RuntimeError: the epoch failed" in done.stderr
    batch = batch_of(real_server, "raises")
    assert (batch["status"], batch["failure_reason"]) == ("failed", "RuntimeError: the epoch failed")
    [job] = jobs_of(real_server, "raises")
    assert job["status"] == "failed"
    assert job["traceback"] == batch["traceback"]
    for part in (
        "ValueError: bad batch with ***",
        "direct cause of the following exception",
        "RuntimeError: the epoch failed",
        "train.py, around line",
        "> ",
    ):
        assert part in batch["traceback"]
    # The terminal's lines are in the log too, without the secret.
    printed = [line["line"] for line in lines_of(real_server, "raises", stream="stderr")]
    assert "RuntimeError: the epoch failed" in printed
    assert not any("em_live_" in line for line in printed)


@pytest.mark.parametrize(("ending", "status"), [("raise SystemExit(2)", "failed"), ("", "completed")])
def test_a_context_ends_as_its_block_did(real_server: RealServer, tmp_path: Path, ending: str, status: str) -> None:
    batch_id = f"context-{status}"
    run_script(
        real_server,
        tmp_path,
        f"""
        with svc.init("vision", batch_id="{batch_id}") as run:
            run.log({{"a": 1}})
            {ending}
        """,
    )
    assert batch_of(real_server, batch_id)["status"] == status
    assert jobs_of(real_server, batch_id)[0]["status"] == status


class Phase(enum.Enum):
    WARM = 3


def test_steps_come_in_any_order_and_metrics_have_steps_of_their_own(real_server: RealServer) -> None:
    run = begin(real_server, step_unit="tokens")
    run.define_metric("val/*", step="epoch", goal="max")
    run.log({"loss": 3}, step=1000)
    run.log({"loss": 1}, step=3000)
    run.log({"loss": 2}, step=2000)  # late, and lower
    run.log({"lr": 0.1}, step=3000)  # merges
    run.log({"loss": 0.5}, step=1000)  # repeated: the later value counts
    run.log({"counted": 1})
    run.log({"epoch": 0, "val": {"acc": 0.25}, "flag": True, "phase": Phase.WARM})
    run.log({"epoch": 1, "val/acc": float("nan")})
    run.finish()
    assert series_of(real_server, run.id) == {
        "loss": [[1000, 0.5], [2000, 2], [3000, 1]],
        "lr": [[3000, 0.1]],
        "counted": [[1001, 1]],
        "axis/epoch": [[1002, 0], [1003, 1]],
        "val/acc": [[0, 0.25], [1, "NaN"]],
        "flag": [[1002, 1]],
        "phase": [[1002, 3]],
    }
    [job] = jobs_of(real_server, run.id)
    assert job["step_unit"] == "tokens"
    assert job["params"] == {"step_units": {"val/*": "epoch"}, "main_series": ["val/*"]}
    assert batch_of(real_server, run.id)["summary"]["val/acc"] == {
        "last": "NaN",
        "min": 0.25,
        "max": 0.25,
        "best": 0.25,
    }


def test_a_step_may_count_tokens(real_server: RealServer, caplog: Any) -> None:
    run = begin(real_server)
    for step in (3_000_000_000, 10**12, 2**53 - 1):
        run.log({"loss": 1.0}, step=step)
    run.log({"late": 2.0}, step=2**53)
    run.finish()
    series = series_of(real_server, run.id)
    assert series["loss"] == [[3_000_000_000, 1], [10**12, 1], [2**53 - 1, 1]]
    assert series["late"] == [[2**53 - 1, 2]]
    said = [record.getMessage() for record in caplog.records if record.name == "svc_reporter"]
    assert any("from -(2^53 - 1) to 2^53 - 1" in line for line in said)


def test_the_planned_length_is_a_parameter_of_the_job(real_server: RealServer) -> None:
    given = {"lr": 0.1}
    run = svc.init("vision", url=real_server.url, token=real_server.token, quiet=True, config=given, steps=100)
    run.log({"loss": 1})
    run.finish()
    [job] = jobs_of(real_server, run.id)
    assert job["params"] == {"lr": 0.1, "steps": 100}
    assert given == {"lr": 0.1}
    wrong: Any
    for wrong in (0, -1, 1.5, "ten", 2**53):
        with pytest.raises(ValueError, match="steps must be a whole number"):
            svc.init("vision", url=real_server.url, token=real_server.token, quiet=True, steps=wrong)


def test_a_fractional_step_becomes_a_series_and_calls_are_counted_as_steps(real_server: RealServer) -> None:
    run = begin(real_server)
    for step in (0.25, 0.5, 1.0):
        run.log({"loss": step}, step=step)
    run.finish()
    # The last step is a whole number, so it is the step itself.
    assert series_of(real_server, run.id) == {"loss": [[0, 0.25], [1, 1]], "step": [[0, 0.25], [1, 0.5]]}


def test_a_value_that_is_not_a_number_drops_only_itself_and_is_logged_once(
    real_server: RealServer, caplog: Any
) -> None:
    run = begin(real_server)
    for _ in range(3):
        run.log({"loss": 1, "words": "warm", "self": 2, "job_id": 3, "names": ["a", "b"], "none": None})
    run.finish()
    run.log({"loss": 2})
    run.log({"loss": 2})
    assert set(series_of(real_server, run.id)) == {"loss", "self", "job_id"}
    said = [record.getMessage() for record in caplog.records if record.name == "svc_reporter"]
    assert [line for line in said if "words" in line] == [
        "job main: stored with its epoch but not charted, since it is not a number: words (str)"
    ]
    assert sum("log was called after the run had ended" in line for line in said) == 1


def test_the_configuration_can_change_during_the_run(real_server: RealServer) -> None:
    run = begin(real_server, config={"lr": 0.1, "seed": 7})
    run.log({"loss": 1})
    run.config.lr = 0.01
    run.config.update({"seed": 7, "warmup": True})
    assert run.config.lr == 0.01
    assert dict(run.config) == {"lr": 0.01, "seed": 7, "warmup": True}
    run.reporter.flush(10)
    batch = batch_of(real_server, run.id)
    assert batch["config"] == {"lr": 0.01, "seed": 7, "warmup": True}
    assert batch["status"] == "running"
    run.finish()
    assert batch_of(real_server, run.id)["status"] == "completed"


def test_further_jobs_can_be_added_to_the_job_of_the_run(real_server: RealServer) -> None:
    run = begin(real_server, n_total=3)
    for fold in range(2):
        with run.job(f"fold{fold}", fold=fold) as job:
            job.epoch(0, val_loss=fold)
    run.log({"mean": 0.5})
    run.finish()
    assert {job["id"]: job["status"] for job in jobs_of(real_server, run.id)} == {
        "fold0": "completed",
        "fold1": "completed",
        "main": "completed",
    }


def test_an_alert_is_a_marked_line_of_its_level(real_server: RealServer) -> None:
    run = begin(real_server)
    run.alert("Loss exploded", "at step 7", level="error")
    run.finish()
    [line] = [line for line in lines_of(real_server, run.id, level="error") if line["line"].startswith("Loss")]
    assert (line["line"], line["level"], line["job_id"]) == ("Loss exploded: at step 7", "error", "main")


def test_a_second_init_finishes_the_first_and_a_notebook_shows_a_link(real_server: RealServer) -> None:
    first = begin(real_server, name="first <b>")
    first.log({"loss": 0.5})
    assert f'<a href="{first.url}"' in first._repr_html_()
    assert "first &lt;b&gt;" in first._repr_html_()
    second = begin(real_server)
    assert batch_of(real_server, first.id)["status"] == "completed"
    second.finish()


def test_a_run_that_is_ended_by_another_one_logs_it(
    real_server: RealServer, capsys: pytest.CaptureFixture[str]
) -> None:
    first = begin(real_server, name="outer", quiet=False)
    begin(real_server, name="inner").finish()
    assert f"svc: run outer finished because run inner started: {first.url}\n" in capsys.readouterr().err


def test_a_loop_over_a_generator_that_is_left_is_no_failure(real_server: RealServer) -> None:
    made: list[svc.Run] = []

    def steps() -> Iterator[int]:
        with begin(real_server) as run:
            made.append(run)
            for step in range(10):
                with run.job(f"part {step}"):
                    yield step

    for step in steps():
        if step == 1:
            break
    [run] = made
    assert (batch_of(real_server, run.id)["status"], batch_of(real_server, run.id)["traceback"]) == ("completed", None)
    assert {job["status"] for job in jobs_of(real_server, run.id)} == {"completed"}


CELLS = """
import sys, types
cells = []
shell = types.SimpleNamespace(events=types.SimpleNamespace(register=lambda name, call: cells.append((name, call))))
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
def cell(code):
    for name, call in cells:
        assert name == "pre_run_cell"
        call(None)
    try:
        exec(code, globals())
    except BaseException as error:
        sys.last_value = error
"""


@pytest.mark.parametrize(
    ("cells", "status"),
    [
        (["1 / 0", "run = svc.init('vision', batch_id=BATCH)", "run.log({'loss': 1})"], "completed"),
        (["run = svc.init('vision', batch_id=BATCH)", "1 / 0", "run.log({'loss': 1})"], "completed"),
        (["run = svc.init('vision', batch_id=BATCH)", "sys.exit(2)", "run.log({'loss': 1})"], "completed"),
        (["run = svc.init('vision', batch_id=BATCH)", "run.log({'loss': 1})", "1 / 0"], "failed"),
    ],
)
def test_only_the_error_of_the_last_cell_fails_the_run_of_a_notebook(
    real_server: RealServer, tmp_path: Path, cells: list[str], status: str
) -> None:
    batch_id = f"cells-{uuid4().hex[:8]}"
    body = CELLS + f"BATCH = {batch_id!r}\nfor code in {cells!r}:\n    cell(code)\n"
    done = run_script(real_server, tmp_path, body)
    assert done.returncode == 0, done.stderr
    batch = batch_of(real_server, batch_id)
    assert (batch["status"], "ZeroDivisionError" in str(batch["failure_reason"])) == (status, status == "failed")


class Optimizer(NamedTuple):
    name: str
    lr: float


@dataclass
class Settings:
    depth: int
    optimizer: Optimizer
    file: Path


def test_settings_of_classes_are_recorded_by_their_fields_and_objects_without_addresses(
    real_server: RealServer,
) -> None:
    settings = Settings(3, Optimizer("sgd", 0.1), Path("/data"))
    fields = {"depth": 3, "optimizer": {"name": "sgd", "lr": 0.1}, "file": "/data"}
    with begin(real_server, config=settings) as run:
        run.config.update(
            again=settings,
            space=SimpleNamespace(lr=[1]),
            id=UUID(int=5),
            wait=timedelta(seconds=90),
            call=textwrap.dedent,
            kind=dict,
            thing=object(),
        )
    assert batch_of(real_server, run.id)["config"] == {
        **fields,
        "again": fields,
        "space": {"lr": [1]},
        "id": "00000000-0000-0000-0000-000000000005",
        "wait": "0:01:30",
        "call": "textwrap.dedent",
        "kind": "builtins.dict",
        "thing": "<object object>",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": 7},
        {"config": [1]},
        {"environment": ["weather"]},
        {"environment": "git"},
        {"step_unit": ""},
        {"tags": [1]},
    ],
)
def test_arguments_that_can_never_work_are_refused_at_once(arguments: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        svc.init("vision", quiet=True, **arguments)


def test_a_configuration_too_large_for_one_event_loses_its_largest_keys(real_server: RealServer, caplog: Any) -> None:
    run = begin(real_server, config={"small": 1, "big": "x" * 300_000})
    run.log({"loss": 1})
    run.finish()
    assert batch_of(real_server, run.id)["config"] == {"small": 1}
    assert any(
        "configuration is too large, these values are not sent: big" in record.getMessage() for record in caplog.records
    )


def test_a_run_can_be_pickled_and_copied(real_server: RealServer) -> None:
    run = begin(real_server, name="travels", config={"lr": 0.1})
    run.log({"loss": 1})
    for copied in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert (copied.id, copied.name, dict(copied.config)) == (run.id, "travels", {"lr": 0.1})
    run.finish()
    assert batch_of(real_server, run.id)["status"] == "completed"


def test_an_exit_status_without_a_context_is_a_failure(real_server: RealServer, tmp_path: Path) -> None:
    done = run_script(
        real_server,
        tmp_path,
        """
        import sys
        run = svc.init("vision", batch_id="exits with 2")
        run.log({"loss": 1})
        run.summary["best"] = 1
        sys.exit(2)
        """,
    )
    assert done.returncode == 2
    batch = batch_of(real_server, "exits with 2")
    assert (batch["status"], batch["failure_reason"]) == ("failed", "SystemExit: 2")
    assert batch["summary"]["best"] == 1


def test_a_failed_run_sends_what_it_has_set_with_its_job(server: FakeIngest) -> None:
    run = svc.init("vision", url=server.url, token=server.token, quiet=True, console=False, environment=False)
    run.log({"loss": 1})
    run.summary["best_acc"] = 0.93
    run.finish(RuntimeError("out of memory"))
    [failed] = server.of("job_failed")
    assert failed["data"]["reason"] == "RuntimeError: out of memory"
    assert failed["data"]["metrics"] == {"best_acc": 0.93}


@pytest.mark.parametrize("variable", ["RANK", "SVC_DISABLED"])
def test_callbacks_find_the_run_of_a_process_that_does_not_report(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with svc.init("vision", quiet=True) as run:
        assert current_run() is run
        run.log({"loss": 0.5})
        assert run.delivery.produced == 0
    assert current_run() is None
    assert sys.excepthook is sys.__excepthook__
