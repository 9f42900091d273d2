"""Sweeps against the real service: asking, reporting, early stopping, and the command line."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._cli import main
from svc_reporter._cli.sweep_run import arguments_of
from svc_reporter._process import ranks as _ranks
from svc_reporter._run import trial as _trial
from svc_reporter._sweeps import sweep as _sweep
from svc_reporter._sweeps.proposals import NeedsPackage
from svc_reporter._sweeps.sweep import Sweep
from svc_reporter._sweeps.sweep_config import read_definition
from svc_reporter._sweeps.sweeps import Params

from .kit.real_server import RealServer

PROJECT = "sweeps"


@pytest.fixture
def service(real_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> RealServer:
    monkeypatch.setenv("SVC_URL", real_server.url)
    monkeypatch.setenv("SVC_TOKEN", real_server.token)
    monkeypatch.setenv("SVC_CONSOLE", "0")
    if not any(one["slug"] == PROJECT for one in real_server.call("GET", "/api/projects")["items"]):
        real_server.call("POST", "/api/projects", {"slug": PROJECT})
    return real_server


def definition(**more: Any) -> dict[str, Any]:
    return {
        "name": "Widths",
        "method": "grid",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"lr": {"values": [0.1, 0.01]}, "width": {"min": 1, "max": 2}},
        **more,
    }


def train(loss: Callable[[Any], float] = lambda config: float(config["width"])) -> None:
    with svc.init(config={"seed": 1}, quiet=True, console=False, environment=False) as run:
        run.log({"loss": loss(run.config) + 1}, step=0)
        run.log({"loss": loss(run.config)}, step=1)


def test_a_sweep_and_a_run_change_the_name_of_a_project_alike(
    service: RealServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with svc.init("my widths", quiet=True, console=False, environment=False) as run:
        pass  # its start creates the project
    made = svc.sweep(definition(), project="my widths")
    of_file = svc.sweep(definition(project="my widths"))
    assert made.project == of_file.project == run.reporter.project == "my-widths"
    assert "the project name 'my widths'" in capsys.readouterr().err
    monkeypatch.setenv("WANDB_PROJECT", "other")
    monkeypatch.setenv("SVC_PROJECT", "my widths")
    with svc.init(quiet=True, console=False, environment=False) as of_variable:
        pass
    assert svc.sweep(definition()).project == of_variable.reporter.project == "my-widths"
    for start in (svc.init, lambda project: svc.sweep(definition(), project=project)):
        with pytest.raises(ValueError, match="project must not contain '/'"):
            start("team/widths")


def test_the_api_reads_a_sweep_as_scripts_for_wandb_do(service: RealServer) -> None:
    made = svc.sweep(definition(method="random", max_trials=4, early_terminate={"type": "hyperband"}), project=PROJECT)

    def trial() -> None:
        with svc.init(config={"seed": 1}, quiet=True, console=False, environment=False) as run:
            number = int(run.reporter.trial.number)  # type: ignore[union-attr]  # within a trial
            run.log({"loss": [3.0, 1.0, 2.0, 0.5][number], "epoch": 7}, step=1)
            run.summary["note"] = f"of {number}"
            if number == 3:
                raise ValueError("bad parameters")

    svc.agent(made.id, trial)
    api = svc.Api(service.url, service.session)
    sweep = api.sweep(f"team/{PROJECT}/{made.id}")
    assert (sweep.id, sweep.name, sweep.project, sweep.state) == (made.id, "Widths", PROJECT, "FINISHED")
    assert (sweep.expected_run_count, sweep.order) == (4, "+summary_metrics.loss")
    assert sweep.config == {
        "name": "Widths",
        "method": "random",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"lr": {"values": [0.1, 0.01]}, "width": {"min": 1, "max": 2}},
        "early_terminate": {"type": "hyperband"},
        "run_cap": 4,
    }
    assert [(run.name, run.state) for run in sweep.runs] == [
        *((f"trial-{number}", "finished") for number in range(3)),
        ("trial-3", "failed"),
    ]
    assert [run.summary["loss"] for run in sweep.runs] == [3.0, 1.0, 2.0, 0.5]
    best = sweep.best_run()
    assert best is not None
    assert (best.name, best.summary["epoch"]) == ("trial-3", 7)
    assert sweep.runs[1].summary["note"] == "of 1"
    assert set(best.config) == {"lr", "width", "seed"}
    worst = sweep.best_run("-loss")
    assert worst is not None
    assert worst.name == "trial-0"
    assert [row["loss"] for row in sweep.runs[1].scan_history()] == [1.0]
    assert (best.sweep.id, best.sweep_name) == (made.id, made.id)
    again = api.run("/".join(best.path))
    assert (again.id, again.name, again.summary["loss"]) == (best.id, "trial-3", 0.5)
    found = api.runs(f"team/{PROJECT}", {"sweep": made.id, "state": "finished"}, order="+summary_metrics.loss")
    assert [run.name for run in found] == ["trial-1", "trial-2", "trial-0"]
    assert made.id in [one.id for one in api.project(PROJECT).sweeps()]
    assert api.run(made.batch_id).sweep is None
    with pytest.raises(svc.errors.CommError, match="no sweep 'team/x/none'"):
        api.sweep("team/x/none")


def test_a_function_works_on_every_trial_of_a_grid(service: RealServer) -> None:
    seen: list[tuple[Any, ...]] = []

    def function() -> None:
        params = svc.ask()
        assert params is not None
        seen.append((params.number, params.lr, params["width"]))
        train()

    sweep = svc.sweep(definition(), function, project=PROJECT)
    assert seen == [(0, 0.1, 1), (1, 0.1, 2), (2, 0.01, 1), (3, 0.01, 2)]
    document = sweep.refresh().document
    assert (document["state"], document["trials"]["completed"]) == ("finished", 4)
    assert document["best"]["value"] == 1
    assert [(one["number"], one["state"], one["value"]) for one in sweep.trials()] == [
        (0, "completed", 1),
        (1, "completed", 2),
        (2, "completed", 1),
        (3, "completed", 2),
    ]
    batch = service.call("GET", f"/api/batches/{sweep.batch_id}")
    assert (batch["status"], batch["name"], batch["n_done"]) == ("completed", "Widths", 4)
    jobs = service.call("GET", f"/api/batches/{sweep.batch_id}/jobs")["items"]
    assert {(job["id"], job["params"]["lr"], job["params"]["seed"]) for job in jobs} == {
        ("trial-0", 0.1, 1),
        ("trial-1", 0.1, 1),
        ("trial-2", 0.01, 1),
        ("trial-3", 0.01, 1),
    }
    attempts = service.call("GET", f"/api/batches/{sweep.batch_id}/jobs/trial-0/attempts")
    assert len(attempts["items"]) == 1
    assert svc.ask(sweep) is None
    assert "SVC_BATCH_ID" not in os.environ


def test_a_loop_asks_and_a_failed_trial_does_not_end_it(service: RealServer) -> None:
    sweep = svc.sweep(definition(), project=PROJECT)
    with pytest.raises(RuntimeError), svc.trial(sweep.id, quiet=True, console=False):
        raise RuntimeError("no memory")
    with svc.trial(sweep.id, quiet=True, console=False) as run:
        assert run is not None
        run.log({"loss": 1.0}, step=0)

    def failing_once() -> None:
        if _trial.current().number == 2:  # type: ignore[union-attr]
            raise ValueError("bad values")
        train()

    svc.agent(f"someone/{PROJECT}/{sweep.id}", failing_once)
    states = [(one["state"], one["failure_reason"]) for one in sweep.trials()]
    assert [state for state, _ in states] == ["failed", "completed", "failed", "completed"]
    assert "no memory" in states[0][1]
    assert "bad values" in states[2][1]
    with svc.trial(sweep) as none_left:
        assert none_left is None


def test_count_ends_the_work_and_a_stop_of_the_run_ends_it_too(service: RealServer) -> None:
    calls: list[int] = []

    def function() -> None:
        calls.append(1)
        with svc.init(quiet=True, console=False, stop_poll_s=0.1) as run:
            run.log({"loss": 1.0}, step=0)
            if len(calls) == 2:
                service.call("POST", f"/api/batches/{run.id}/stop")
                for _ in range(100):
                    if svc.should_stop():
                        break
                    run._reporter._ended.wait(0.1)
                else:
                    raise AssertionError("should_stop never said so")
            else:
                assert not svc.should_stop()

    sweep = svc.sweep(definition(), function, project=PROJECT, count=1)
    assert len(calls) == 1
    svc.sweep(sweep.id, function)
    assert len(calls) == 2
    assert [one["state"] for one in sweep.trials()] == ["completed", "stopped"]
    assert sweep.refresh().document["state"] == "stopped"


def test_a_definition_may_be_of_wandb_or_hydra(tmp_path: Path) -> None:
    of_wandb = read_definition(
        {
            "program": "train.py",
            "method": "bayes",
            "metric": {"name": "val/loss", "goal": "minimize"},
            "run_cap": 20,
            "early_terminate": {"type": "hyperband", "min_iter": 3},
            "parameters": {
                "lr": {"distribution": "log_uniform", "min": -3, "max": 0},
                "wd": {"distribution": "log_uniform_values", "min": 1e-6, "max": 1e-2},
                "epochs": {"value": 5},
                "optimizer": {"parameters": {"name": {"values": ["adam", "sgd"]}, "beta": {"min": 0.8, "max": 0.99}}},
            },
        }
    )
    assert (of_wandb["method"], of_wandb["max_trials"], of_wandb["command"]) == ("tpe", 20, "train.py")
    assert of_wandb["early_stopping"] == {"type": "hyperband", "min_iter": 3}
    assert list(of_wandb["parameters"]) == ["lr", "wd", "epochs", "optimizer.name", "optimizer.beta"]
    assert of_wandb["parameters"]["lr"]["max"] == 1
    of_hydra = read_definition(
        {
            "metric": "loss",
            "hydra": {
                "sweeper": {
                    "sampler": {"_target_": "optuna.samplers.TPESampler"},
                    "n_trials": 8,
                    "direction": "maximize",
                    "params": {
                        "lr": "tag(log, interval(0.001, 1))",
                        "layers": "int(interval(1, 4))",
                        "opt": "choice(adam, sgd)",
                        "batch": "16,32",
                        "step": "range(1, 7, 2)",
                    },
                }
            },
        }
    )
    assert (of_hydra["method"], of_hydra["max_trials"]) == ("tpe", 8)
    assert of_hydra["parameters"] == {
        "lr": {"min": 0.001, "max": 1.0, "distribution": "log_uniform_values"},
        "layers": {"min": 1, "max": 4, "distribution": "int_uniform"},
        "opt": {"values": ["adam", "sgd"]},
        "batch": {"values": [16, 32]},
        "step": {"values": [1, 3, 5]},
    }
    conditional = read_definition(
        {
            "metric": "loss",
            "parameters": {
                "opt": {"values": ["adam", "sgd"]},
                "momentum": {"min": 0.0, "max": 0.9, "when": {"opt": "sgd"}},
                "adam": {"parameters": {"beta": {"values": [0.9, 0.99]}}, "when": {"opt": ["adam"]}},
            },
        }
    )
    assert conditional["parameters"]["momentum"]["when"] == {"opt": ["sgd"]}
    assert conditional["parameters"]["adam.beta"] == {"values": [0.9, 0.99], "when": {"opt": ["adam"]}}
    for wrong, word in (
        ({"metric": "loss"}, "parameters"),
        ({"metric": "loss", "parameters": {"lr": {"values": [1], "when": "opt"}}}, "when"),
        ({"parameters": {"lr": [1]}}, "metric"),
        ({"metric": "loss", "parameters": {"lr": {"distribution": "normal", "mu": 0}}}, "lr"),
        (tmp_path / "missing.yaml", "missing.yaml"),
    ):
        with pytest.raises(ValueError, match=word):
            read_definition(wrong)


def test_other_methods_say_what_to_install_without_optuna(service: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    sweep = svc.sweep(definition(method="cmaes"), project=PROJECT)
    with pytest.raises(NeedsPackage, match="pip install optuna cmaes"):
        svc.ask(sweep)
    assert sweep.trials() == []


def test_arguments_of_a_command() -> None:
    params = {"lr": 0.1, "opt": "adam", "fast": True}
    assert arguments_of(["python", "t.py", "{args}"], params) == [
        "python",
        "t.py",
        "--lr=0.1",
        "--opt=adam",
        "--fast=true",
    ]
    assert arguments_of(["t", "{args_hydra}"], params) == ["t", "lr=0.1", "opt=adam", "fast=true"]
    assert arguments_of(["t", "{args_json}", "x={lr}"], params) == ["t", json.dumps(params), "x=0.1"]


def test_the_command_line_creates_and_runs_a_sweep(service: RealServer, tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(definition(project=PROJECT)))
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
        import os, sys, json
        import svc_reporter as svc
        words = dict(word.lstrip("-").split("=") for word in sys.argv[1:])
        run = svc.init(quiet=True, console=False, environment=False)
        assert float(words["lr"]) == run.config.lr == json.loads(os.environ["SVC_PARAMS"])["lr"]
        assert os.environ["CUDA_VISIBLE_DEVICES"] in ("0", "1")
        run.log({"loss": run.config.lr}, step=0)
        if words["width"] == "2" and run.config.lr == 0.1:
            sys.exit(3)
        """)
    )
    # A new project is created, as by a first run.
    assert main(["sweep", "create", str(tmp_path / "sweep.json"), "--project", "made-by-a-sweep"]) == 0
    capfd.readouterr()
    assert main(["sweep", "create", str(tmp_path / "sweep.json")]) == 0
    name = capfd.readouterr().out.strip()
    command = [sys.executable, str(tmp_path / "train.py"), "{args}"]
    assert main(["sweep", "run", name, "--gpus", "0,1", "--", *command]) == 1
    trials = Sweep.of(name).trials()
    assert [(one["state"], one["value"]) for one in trials] == [
        ("completed", 0.1),
        ("failed", 0.1),
        ("completed", 0.01),
        ("completed", 0.01),
    ]
    assert main(["sweep", "run", name]) == 2
    assert main(["sweep", "run", "unknown", "--", "true"]) == 3


def test_a_command_without_reporter_ends_its_trials(service: RealServer) -> None:
    sweep = svc.sweep(definition(max_trials=2), project=PROJECT)
    program = "import sys; sys.exit(int(sys.argv[1] == '--width=2'))"
    assert main(["sweep", "run", sweep.id, "--", sys.executable, "-c", program, "--width={width}"]) == 1
    assert [one["state"] for one in sweep.trials()] == ["completed", "failed"]
    assert sweep.refresh().document["state"] == "finished"


def test_all_ranks_of_a_launcher_get_the_same_trial(service: RealServer, tmp_path: Path) -> None:
    sweep = svc.sweep(definition(), project=PROJECT)
    script = "import svc_reporter as svc, sys; print(dict(svc.ask(sys.argv[1])), dict(svc.ask(sys.argv[1])))"
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", script, sweep.id],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"},
            stdout=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    printed = {process.communicate(timeout=60)[0] for process in ranks}
    assert len(printed) == 1
    assert len(sweep.trials()) == 2


def test_slurm_arrays_and_indexed_jobs_of_kubernetes_share_a_sweep(service: RealServer) -> None:
    sweep = svc.sweep(definition(), project=PROJECT)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    array = [
        {
            "SLURM_JOB_ID": str(40 + task),
            "SLURM_ARRAY_JOB_ID": "40",
            "SLURM_ARRAY_TASK_ID": str(task),
            "SLURM_NTASKS": "1",
            "SLURM_PROCID": "0",
        }
        for task in range(2)
    ]
    indexed = [{"JOB_COMPLETION_INDEX": str(index)} for index in range(2)]
    command = [sys.executable, "-m", "svc_reporter", "sweep", "run", sweep.id, "--count", "1", "--"]
    workers = [
        subprocess.Popen([*command, sys.executable, "-c", "pass"], env={**inherited, **place})
        for place in (*array, *indexed)
    ]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    trials = sweep.trials()
    assert [(one["number"], one["state"]) for one in trials] == [(n, "completed") for n in range(4)]
    places = sorted(str(one["worker"]).split(" ", 1)[1] for one in trials)
    assert places == ["k8s 0", "k8s 1", "slurm 40_0", "slurm 40_1"]


def test_ranks_on_several_machines_are_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert _ranks.world_size() == 4
    with pytest.raises(RuntimeError, match="init_process_group"):
        _sweep._ask_id(1)


@pytest.mark.slow
def test_workers_that_are_killed_at_random_complete_a_grid(
    service: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with 500 trials and 16 workers: bench/sweep_kills.py."""
    spec = importlib.util.spec_from_file_location("sweep_kills", Path(__file__).parents[1] / "bench" / "sweep_kills.py")
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setenv("SVC_WATCHDOG", "1")
    monkeypatch.setenv("SVC_TRIAL_LEASE_S", "10")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    found = bench.run(PROJECT, n_trials=16, n_workers=4, kills_a_second=1.5)
    assert found["killed"] > 0


def test_a_killed_worker_gives_its_trial_back_at_once(service: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_WATCHDOG", "1")
    sweep = svc.sweep(definition(max_trials=1), project=PROJECT)
    script = (
        "import svc_reporter as svc, sys, os, time; svc.ask(sys.argv[1]); run = svc.init(quiet=True, console=False)\n"
        "run.log({'loss': 1.0}, step=0); run.reporter.flush(10); print('ready', flush=True); time.sleep(60)"
    )
    worker = subprocess.Popen([sys.executable, "-c", script, sweep.id], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    assert worker.stdout.readline().strip() == b"ready"
    assert [one["state"] for one in sweep.trials()] == ["running"]
    worker.kill()
    worker.communicate()
    for _ in range(200):
        if [one["state"] for one in sweep.trials()] == ["lost"]:
            break
        time.sleep(0.1)
    svc.agent(sweep.id, train)
    assert [(one["state"], one["handed_out"]) for one in sweep.trials()] == [("completed", 2)]


def test_parameters_are_attributes_too() -> None:
    params = Params(_trial.Trial("s", "b", "p", 3, "trial-3", {"lr": 0.1, "number": 7}, "loss"))
    assert (params.lr, params.number, params.job_id, params["number"]) == (0.1, 7, "trial-3", 7)
    nested = Params(_trial.Trial("s", "b", "p", 3, "trial-3", {"opt.sgd.lr": 0.1}, "loss"))
    assert nested.opt.sgd.lr == 0.1
    with pytest.raises(AttributeError):
        _ = params.missing
