"""`import svc_reporter as wandb`: the names, keywords and variables of W&B, and what happens to unknown ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import svc_reporter as wandb
from svc_reporter._shared import unsupported
from svc_reporter._shared.unsupported import Nothing

from .conftest import lines_of
from .kit.fake_ingest import FakeIngest
from .kit.real_server import ROOT

QUIET = {"stop_poll_s": 0, "heartbeat_s": 0, "resources_s": 0, "environment": False}
TABLE = unsupported.table()
NAMES = [row for row in TABLE["names"] if row["wandb"] not in ("sweep", "agent")]
"""Those two have tests of their own."""


@pytest.fixture(autouse=True)
def unsaid(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test hears the lines again, and has none of W&B's variables of this machine."""
    unsupported._said.clear()
    import os

    for name in list(os.environ):
        if name.startswith("WANDB_"):
            monkeypatch.delenv(name)
    yield
    wandb.finish()


@pytest.fixture
def begin(server: FakeIngest) -> Callable[..., wandb.Run]:
    def make(**arguments: Any) -> wandb.Run:
        return wandb.init(**{"url": server.url, "token": server.token, "console": False, **QUIET, **arguments})

    return make


def epochs(server: FakeIngest) -> list[tuple[int, dict[str, Any]]]:
    """Step and values of each call, in their order."""
    events = sorted(server.of("job_epoch"), key=lambda event: event["timestamp"])
    return [(e["data"]["epoch"], {k: v for k, v in e["data"].items() if k != "epoch"}) for e in events]


def test_the_calls_of_the_module_work_on_the_open_run(begin: Callable[..., wandb.Run], server: FakeIngest) -> None:
    run = begin(project="vision", config={"lr": 0.1}, name="first")
    assert wandb.run is run
    assert wandb.config.lr == 0.1
    wandb.config.update({"lr": 0.2, "depth": 3}, allow_val_change=True)
    wandb.config.setdefaults({"depth": 9, "width": 4})
    wandb.define_metric("acc", summary="max")
    wandb.log({"loss": 1.0, "acc": 0.5})
    wandb.log({"loss": 0.5, "acc": 0.4}, step=7)
    assert wandb.summary["acc"] == wandb.run.summary.acc == {"max": 0.5}
    assert wandb.summary["loss"] == 0.5
    wandb.run.summary.best = 0.9
    wandb.run.name = "renamed"
    wandb.alert(title="Loss", text="high", level=wandb.AlertLevel.WARN, wait_duration=60)
    wandb.alert(title="Loss", text="again", level=wandb.AlertLevel.WARN, wait_duration=60)
    wandb.finish()
    assert str(wandb.run) == "None"
    assert run.config.as_dict() == {"lr": 0.2, "depth": 3, "width": 4}
    assert epochs(server) == [(0, {"loss": 1.0, "acc": 0.5}), (7, {"loss": 0.5, "acc": 0.4})]
    updates = [event["data"] for event in server.of("batch_start") if event["data"].get("update")]
    assert [u["config"] for u in updates if "config" in u] == [{"lr": 0.2, "depth": 3}, {"width": 4}]
    assert [u["name"] for u in updates if "name" in u] == ["renamed"]
    [end] = server.of("batch_done")
    assert end["data"]["summary"]["acc"] == {"last": 0.4, "min": 0.4, "max": 0.5, "best": 0.5, "shown": ["max"]}
    assert end["data"]["summary"]["best"] == 0.9
    assert [event["data"]["alert"]["text"] for event in server.of("log_line")] == ["high"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: wandb.log({"loss": 1}),
        lambda: wandb.define_metric("loss"),
        lambda: wandb.config.lr,
        lambda: wandb.config.update({"lr": 1}),
        lambda: wandb.summary.update({"best": 1}),
    ],
)
def test_a_call_that_needs_a_run_says_so_before_init(call: Callable[[], Any]) -> None:
    with pytest.raises(wandb.Error, match=r"svc_reporter\.init\(\)"):
        call()
    assert wandb.finish() is None  # type: ignore[func-returns-value]


def test_calls_without_a_commit_share_the_step_of_the_next_one(
    begin: Callable[..., wandb.Run], server: FakeIngest
) -> None:
    begin(project="vision")
    wandb.log({"a": 1}, commit=False)
    wandb.log({"b": 1}, commit=False)
    wandb.log({"c": 1})  # 0, like both before
    wandb.log({"a": 2})  # 1
    wandb.log({"a": 3}, step=10)
    wandb.log({"b": 3})  # 10: W&B's step stays open until a call without one
    wandb.log({"a": 4})  # 11
    wandb.log({"a": 5}, step=20, commit=True)
    wandb.log({"a": 6})  # 21
    wandb.log({"note": "text"}, commit=False)
    assert wandb.run is not None
    assert wandb.run.step == 22
    wandb.finish()
    assert [(step, *values) for step, values in epochs(server)] == [
        (0, "a"),
        (0, "b"),
        (0, "c"),
        (1, "a"),
        (10, "a"),
        (10, "b"),
        (11, "a"),
        (20, "a"),
        (21, "a"),
        (22, "note"),
    ]


def test_run_log_has_the_steps_of_wandb_in_a_script_that_calls_it_so(
    begin: Callable[..., wandb.Run], server: FakeIngest
) -> None:
    run = begin()
    steps = [run.step]
    for data, more in (
        ({"a": 1}, {}),
        ({"a": 2}, {"step": 9}),
        ({"b": 2}, {}),  # 9, like the call before
        ({"a": 3}, {"step": 3}),  # lower: kept, and the next call goes on as before
        ({"a": 4}, {}),
        ({"a": 5}, {"step": 3, "commit": True}),
        ({"a": 6}, {"commit": False}),
        ({"a": 7}, {"step": 20, "commit": True}),
        ({}, {}),
        ({"a": 8}, {"step": 30, "commit": False}),
        ({"b": 8}, {"commit": False}),
        ({"c": 8}, {}),
    ):
        run.log(data, **more)
        steps.append(wandb.run.step if wandb.run else -1)
    assert steps == [0, 1, 9, 10, 10, 11, 11, 11, 21, 22, 30, 30, 31]  # what wandb 0.31 says
    run.finish()
    found = [(step, *values) for step, values in epochs(server)]
    assert [step for step, *_ in found] == [0, 9, 9, 3, 10, 3, 11, 20, 30, 30, 30]
    own = begin(project="vision")
    own._axes.as_wandb = False  # as in a script that calls it svc
    own.log({"a": 1}, step=9)
    assert own.step == 10


def test_tags_notes_and_name_change_after_the_start(begin: Callable[..., wandb.Run], server: FakeIngest) -> None:
    run = begin(project="vision", tags="one")
    assert run.tags == ("one",)
    run.tags += ("two", "three")
    run.tags = run.tags  # no change, no event
    run.tags = 5  # type: ignore[assignment]
    run.notes = "why"
    run.name = "renamed"
    assert (run.tags, run.notes, run.name) == (("one", "two", "three"), "why", "renamed")
    wandb.finish()
    run.tags = ["late"]
    unnamed = begin(id="run-9")
    assert unnamed.name == "run-9"
    unnamed.name = unnamed.name  # stays without a name
    unnamed.finish()
    updates = [event["data"] for event in server.of("batch_start") if event["data"].get("update")]
    changes = [{key: data[key] for key in ("tags", "notes", "name") if key in data} for data in updates]
    assert changes == [{"tags": ["one", "two", "three"]}, {"notes": "why"}, {"name": "renamed"}]


def test_every_keyword_of_wandb_is_accepted_and_one_line_names_what_has_no_effect(
    begin: Callable[..., wandb.Run], server: FakeIngest, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begin(
        project="my first project",
        entity="team",
        job_type="evaluate",
        dir="/tmp",
        id="given",
        save_code=True,
        monitor_gym=True,
        force=False,
        anonymous="allow",
        allow_val_change=True,
        config={"lr": 0.1, "secretless": 1},
        config_exclude_keys=["secretless"],
        settings=wandb.Settings(start_method="thread", disable_git=True),
        frobnicate=1,
    )
    said = capsys.readouterr().err
    assert "entity= (a project has members instead)" in said
    assert "save_code=" in said
    assert "frobnicate= (unknown" in said
    assert "start_method" in said
    assert "'my-first-project'" in said
    assert (run.id, run.project, run.job_type) == ("given", "my-first-project", "evaluate")
    run.log({"loss": 1}, sync=False)
    run.define_metric("loss", step_metric=run.define_metric("x"), step_sync=True, hidden=True, overwrite=True, odd=1)
    run.some_call_of_the_future(1, key=2).and_more()
    with wandb.a_context_of_the_future() as thing:  # type: ignore[attr-defined]
        assert not thing
    for _ in range(2):
        assert list(wandb.some_list) == []  # type: ignore[attr-defined]
    said = capsys.readouterr().err
    for what in ("log(sync=)", "define_metric(odd=)", "run.some_call_of_the_future", "a_context_of_the_future"):
        assert said.count(what) == 1, said
    run.finish()
    [start] = server.of("batch_start")
    assert start["data"]["config"] == {"lr": 0.1}
    assert start["data"]["experiment_type"] == "evaluate"


def test_variables_of_wandb_stand_in_for_missing_arguments(
    begin: Callable[..., wandb.Run], server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "WANDB_PROJECT": "from-env",
        "WANDB_NAME": "night",
        "WANDB_RUN_GROUP": "folds",
        "WANDB_TAGS": "a, b",
        "WANDB_NOTES": "n",
        "WANDB_RUN_ID": "run-7",
        "WANDB_SILENT": "true",
    }.items():
        monkeypatch.setenv(name, value)
    run = begin()
    assert (run.project, run.name, run.group, run.tags, run.notes) == ("from-env", "night", "folds", ("a", "b"), "n")
    assert run.id == "run-7"
    run.finish()
    begin(project="given", name="mine", id="run-8").finish()
    monkeypatch.setenv("SVC_PROJECT", "own")
    begin(id="run-9").finish()
    projects = [event["source"]["project"] for event in server.of("batch_start")]
    assert projects == ["from-env", "given", "own"]


def test_offline_events_stay_on_disk_and_disabled_reports_nothing(
    begin: Callable[..., wandb.Run], server: FakeIngest, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin(project="vision", mode="offline", id="away") as run:
        run.log({"loss": 1})
        assert run.offline
    assert server.events == []
    assert "job_epoch" in [event["event_type"] for event in lines_of(spill / "away.jsonl")]
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with begin(project="vision") as run:
        wandb.log({"loss": 1})
        assert run.disabled
    assert server.events == []


def test_the_status_of_finish_decides_whether_the_run_failed(
    begin: Callable[..., wandb.Run], server: FakeIngest
) -> None:
    for status in (0, 1, None):
        begin(project="vision").log({"loss": 1})
        wandb.finish(exit_code=status)
    assert server.types().count("batch_done") == 2
    [failed] = server.of("batch_failed")
    assert failed["data"]["reason"] == "SystemExit: 1"


def test_the_calls_of_integrations_are_answered(begin: Callable[..., wandb.Run]) -> None:
    page = (ROOT / "docs" / "from-wandb.md").read_text("utf-8")
    table = page.partition("## Calls of integrations")[2].partition("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines() if row.startswith("| ") and "`" in row]
    assert [row[0] for row in rows] == ["Transformers", "Lightning", "Accelerate", "Ultralytics"]
    run = begin(project="vision")
    for library, names in rows:
        of_module, _, of_run = names.replace("`", "").partition("; run.")
        asked = [name for name in of_module.split(", ") if not name.startswith("_")]
        unanswered = [name for name in asked if isinstance(getattr(wandb, name), Nothing)]
        unanswered += [name for name in of_run.split(", ") if isinstance(getattr(run, name), Nothing)]
        assert set(unanswered) <= {"env"}, library


def test_the_calls_of_the_callback_of_ultralytics(
    begin: Callable[..., wandb.Run], server: FakeIngest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `ultralytics/utils/callbacks/wb.py` makes them over two epochs of a training."""
    begin(project="runs-detect", name="train", config={"imgsz": 64})
    (tmp_path / "best.pt").write_bytes(b"weights")
    assert wandb.run is not None
    for epoch in range(2):
        if epoch == 0:
            wandb.run.log({"model/parameters": 10}, step=1)
        wandb.run.log({"train/box_loss": 1.0 - epoch / 4}, step=epoch + 1)
        wandb.run.log({"lr/pg0": 0.1}, step=epoch + 1)
        wandb.run.log({"metrics/mAP50(B)": 0.5}, step=epoch + 1)
    artifact = wandb.Artifact(type="model", name=f"run_{wandb.run.id}_model")
    artifact.add_file(str(tmp_path / "best.pt"))
    wandb.run.log_artifact(artifact, aliases=["best"])
    curve = wandb.Table(data=[["a", 0.0, 1.0], ["a", 0.5, 0.75]], columns=["class", "y", "x"])
    fields = {"x": "x", "y": "y", "class": "class"}
    strings = {"title": "PR", "x-axis-title": "Recall", "y-axis-title": "Precision"}
    plot = wandb.plot_table("wandb/area-under-curve/v0", curve, fields=fields, string_fields=strings)
    wandb.run.log({"curves/PR": plot})
    wandb.run.finish()
    steps = {(step, name) for step, values in epochs(server) for name in values}
    assert {(1, "train/box_loss"), (2, "metrics/mAP50(B)"), (2, "lr/pg0")} <= steps
    assert "not supported" not in capsys.readouterr().err


def test_a_summary_reads_as_with_wandb(begin: Callable[..., wandb.Run], server: FakeIngest) -> None:
    run = begin(project="vision")
    run.define_metric("loss", summary="min,mean,last")
    for loss in (3.0, 1.0, 2.0):
        run.log({"loss": loss, "val": {"acc": loss / 10, "auc": 1}, "phase": "warm"})
    assert run.summary["loss"] == {"min": 1.0, "mean": 2.0, "last": 2.0}
    assert (run.summary["val"], run.summary["phase"]) == ({"acc": 0.2, "auc": 1.0}, "warm")
    run.summary["best"] = 5
    assert run.summary["best"] == 5
    run.log({"best": 6})  # the later one counts
    assert run.summary["best"] == 6
    assert "none" not in run.summary
    assert len(run.summary) == 5
    run.finish()
    [end] = server.of("batch_done")
    assert (end["data"]["summary"]["loss"]["min"], end["data"]["summary"]["phase"]) == (1.0, "warm")


def test_the_files_of_defaults_are_read(
    begin: Callable[..., wandb.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config-defaults.yaml").write_text('{"wandb_version": 1, "lr": {"value": 0.5}, "batch": {"value": 8}}')
    (tmp_path / "more.json").write_text('{"depth": 3}')
    monkeypatch.setenv("WANDB_CONFIG_PATHS", "more.json,missing.yaml")
    monkeypatch.setitem(sys.modules, "yaml", SimpleNamespace(safe_load=json.loads))  # of this file
    assert dict(begin(project="vision", config={"lr": 0.1}).config) == {"lr": 0.1, "batch": 8, "depth": 3}


def test_several_runs(begin: Callable[..., wandb.Run], server: FakeIngest) -> None:
    first = begin(project="vision", id="first")
    assert wandb.init() is first
    other = begin(project="vision", id="other", reinit="create_new")
    assert wandb.run is first
    other.log({"loss": 2})
    wandb.log({"loss": 1})
    assert begin(project="vision", id="not started", config={"lr": 1}) is first  # as with W&B, it takes nothing from it
    assert "lr" not in first.config
    third = begin(project="vision", id="third", reinit=True)
    assert wandb.run is third
    third.finish()
    other.finish()
    ended = [event["batch_id"] for event in server.of("batch_done")]
    assert ended == ["first", "third", "other"]
    assert {(event["batch_id"], event["data"]["loss"]) for event in server.of("job_epoch")} == {
        ("first", 1),
        ("other", 2),
    }


def test_resume_must_and_never_ask_the_service(begin: Callable[..., wandb.Run], server: FakeIngest) -> None:
    server.gets["/api/batches/known/resume-point"] = (
        "application/json",
        b'{"project": "vision", "newest_job": "main", "jobs": [{"job_id": "main", "last_step": 4}]}',
    )
    with pytest.raises(wandb.UsageError, match="exists already"):
        begin(project="vision", id="known", resume="never")
    run = begin(project="vision", id="known", resume="must")
    assert (run.resumed, run.starting_step, run.step) == (True, 5, 5)
    run.finish()


def test_resume_auto_continues_a_run_that_failed(begin: Callable[..., wandb.Run], server: FakeIngest) -> None:
    failed = begin(project="vision", resume="auto")
    failed.finish(exit_code=1)
    again = begin(project="vision", resume="auto")
    assert again.id == failed.id
    again.finish()
    assert begin(project="vision", resume="auto").id != failed.id


def test_an_unknown_name_of_the_module_does_nothing_and_private_ones_do_not_exist() -> None:
    assert not wandb.sklearn.plot_classifier(1, 2)  # type: ignore[attr-defined]
    assert not hasattr(wandb, "_private")
    assert not hasattr(wandb, "__wrapped__")
    from svc_reporter import query

    assert query.Api is wandb.Api


def test_the_import_loads_nothing_that_a_script_does_not_use(tmp_path: Path) -> None:
    script = "import sys, svc_reporter; print(sorted(m for m in sys.modules if m.startswith('svc_reporter.')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    for module in ("_wandb", "_sweeps", "_cli", "query", "errors", "http.client"):
        assert f"'svc_reporter.{module}'" not in done.stdout


@pytest.mark.parametrize("row", NAMES, ids=lambda row: str(row["wandb"]))
def test_the_table_says_what_the_module_has(row: dict[str, str]) -> None:
    found = getattr(wandb, row["wandb"])
    stands_in = isinstance(found, unsupported.Nothing) or (isinstance(found, type) and Nothing in found.__mro__)
    stands_in = stands_in or getattr(found, "__name__", "").startswith("wandb.")
    assert stands_in == row["here"].startswith(("nothing", "not yet"))
    assert not stands_in or row["instead"]


def test_the_page_has_the_table() -> None:
    generator = ROOT / "python" / "reporter" / "scripts" / "generate_from_wandb.py"
    done = subprocess.run([sys.executable, str(generator), "--check"], check=False)
    assert done.returncode == 0, "run python/reporter/scripts/generate_from_wandb.py"


SCRIPT = """
import importlib.metadata, importlib.util, subprocess, sys
import wandb, wandb.sdk.lib
from wandb.sdk.wandb_run import Run
from wandb.errors import CommError
from wandb.sdk.lib import RunDisabled
assert importlib.util.find_spec("wandb") is not None
assert int(importlib.metadata.version("wandb").split(".")[1]) > 12
run = wandb.init(project="vision", id=sys.argv[1])
assert isinstance(run, Run) and not isinstance(run, RunDisabled) and issubclass(CommError, wandb.Error)
wandb.log({"loss": 1})
if len(sys.argv) == 2:
    child = [sys.executable, __file__, "child", "last"]
    assert subprocess.call(child) == 3
sys.exit(3)
"""


def test_run_as_wandb_reports_here_also_from_children_and_keeps_the_status(server: FakeIngest, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    source = str(ROOT / "python" / "reporter" / "src")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": source, "SVC_WATCHDOG": "0"}
    env |= {"SVC_URL": server.url, "SVC_TOKEN": server.token}
    command = [sys.executable, "-m", "svc_reporter", "run-as-wandb", str(script), "parent"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert {event["batch_id"] for event in server.of("job_epoch")} == {"parent", "child"}
    assert {event["data"]["reason"] for event in server.of("batch_failed")} == {"SystemExit: 3"}
