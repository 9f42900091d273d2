"""What is recorded of a run's surroundings, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._capture import described, distributions
from svc_reporter._capture import environment as _environment
from svc_reporter._capture.environment import cluster, environment, wanted_parts
from svc_reporter._capture.git import diff_lines, git_diff, git_remote
from svc_reporter._process.tracebacks import LIMIT, full_trace
from svc_reporter.query import Api

from .kit.fake_ingest import FakeIngest
from .kit.real_server import RealServer
from .kit.wait import until


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text("lr = 0.1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "remote", "add", "origin", "https://ada:hunter2hunter2@example.org/digits.git")
    return folder


def test_a_clean_checkout_has_no_diff(checkout: Path) -> None:
    assert git_diff(str(checkout), {}) is None
    assert git_diff(str(checkout.parent), {}) is None


def test_the_diff_has_no_secrets(checkout: Path) -> None:
    (checkout / "train.py").write_text(
        'lr = 0.2\nAPI_KEY = "abcd1234abcd1234"\nhf = "hf_abcdefghijklmnop"\nvalue = "from-the-environment"\n'
    )
    found = git_diff(str(checkout), {"DB_PASSWORD": "from-the-environment"})
    assert found is not None
    said, part = diff_lines(found)
    assert said.startswith("git diff against HEAD: ")
    assert said.endswith(" bytes in 1 parts")
    assert "+lr = 0.2" in part
    assert "+API_KEY = ***" in part
    for secret in ("abcd1234abcd1234", "hf_abcdefghijklmnop", "from-the-environment"):
        assert secret not in part


def test_a_long_diff_is_split_to_fit_into_events_and_cut_at_1_mib(checkout: Path) -> None:
    (checkout / "train.py").write_text("ä" * 79 + "\n" + "some line of data\n" * 100_000)
    found = git_diff(str(checkout), {})
    assert found is not None
    assert described.diff_content(found).splitlines()[-1].startswith(b"# cut: the first 1,048,576 of ")
    said, *parts = diff_lines(found)
    assert "of which the first 1,048,576 bytes are kept" in said
    assert f"in {len(parts)} parts" in said
    assert parts[1].startswith(f"git diff, part 2 of {len(parts)}\n")
    assert max(len(part.encode()) for part in parts) < 250 * 1024
    assert 1_000_000 < sum(len(part) for part in parts) < 1_100_000


def test_parts_can_be_chosen_one_by_one(checkout: Path) -> None:
    assert wanted_parts(True) == frozenset(_environment.PARTS)
    assert wanted_parts(False) == frozenset()
    assert environment(wanted_parts(["git"])) == {}
    assert git_remote(str(checkout)) == {"git_remote": "https://***@example.org/digits.git"}
    facts = environment(wanted_parts(["libraries", "entry"]))
    assert facts["libraries"]["pytest"] == pytest.__version__
    assert set(facts) <= {"libraries", "python_implementation", "entry_file"}


def test_ids_of_slurm_and_kubernetes_are_recorded() -> None:
    assert cluster({}) == {}
    assert cluster({"SLURM_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}) == {
        "slurm": {"job_id": "7", "array_task_id": "3"}
    }
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": "train-0", "POD_NAMESPACE": "lab", "NODE_NAME": "n1"}
    assert cluster(pod) == {"kubernetes": {"pod": "train-0", "namespace": "lab", "node": "n1"}}


def test_names_of_gpus_and_their_driver_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml: Any = types.ModuleType("pynvml")
    nvml.nvmlInit = lambda: None
    nvml.nvmlDeviceGetCount = lambda: 2
    nvml.nvmlDeviceGetHandleByIndex = lambda i: i
    nvml.nvmlDeviceGetUUID = lambda device: f"GPU-{device}"
    nvml.nvmlDeviceGetName = lambda _device: b"NVIDIA H100"
    nvml.nvmlSystemGetDriverVersion = lambda: b"560.35"
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    facts = environment(wanted_parts(["gpus"]))
    assert facts["gpu_names"] == ["NVIDIA H100", "NVIDIA H100"]
    assert facts["gpu_driver"] == "560.35"


def test_every_job_of_a_run_has_the_number_of_visible_gpus_unless_it_gives_one_itself(real_server: RealServer) -> None:
    run = svc.init("vision", url=real_server.url, token=real_server.token, quiet=True, environment=False)
    run.reporter.environment_extras = {"gpu_names": ["NVIDIA H100", "NVIDIA H100"]}
    run.log({"loss": 1})
    with run.job("fold1", gpu_count=1):
        pass
    run.finish()
    jobs = real_server.call("GET", f"/api/batches/{run.id}/jobs")["items"]
    assert {job["id"]: job["gpu_count"] for job in jobs} == {"main": 2, "fold1": 1}


def test_a_run_keeps_them_in_its_snapshot_and_in_files_of_its_own(
    real_server: RealServer, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "train.py").write_text("lr = 0.2\n")
    monkeypatch.chdir(checkout)
    script = checkout / "train.py"
    script.write_text('lr = 0.2\nAPI_KEY = "abcd1234abcd1234"\n')
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    config = {"lr": 0.2, "api_key": "abcd1234abcd1234"}
    run = svc.init("vision", url=real_server.url, token=real_server.token, quiet=True, config=config)
    run.log({"loss": 1})
    run.config.warmup = 10
    (checkout / ".svc").mkdir()
    (checkout / ".svc" / "config.json").write_text("mine")
    run.save(".svc/config.json", policy="now")
    run.finish()
    assert run.delivery.files_dropped == 0
    api = Api(real_server.url, real_server.session)
    files = {one["path"]: one.read().decode() for one in api.batch(run.id).files()}
    assert list(files) == [
        ".svc/code/train.py",
        ".svc/config.json",
        ".svc/diff.patch",
        ".svc/requirements.txt",
        "_.svc/config.json",
    ]
    assert files[".svc/code/train.py"] == "lr = 0.2\nAPI_KEY = ***\n"
    assert json.loads(files[".svc/config.json"]) == {"lr": 0.2, "api_key": "***", "warmup": 10}
    assert "+lr = 0.2" in files[".svc/diff.patch"]
    assert f"pytest=={pytest.__version__}" in files[".svc/requirements.txt"].splitlines()
    assert not any("abcd1234abcd1234" in content for content in files.values())
    snapshot = real_server.call("GET", f"/api/batches/{run.id}")["env_snapshot"]
    assert snapshot["branch"] == "main"
    assert snapshot["dirty"] is True
    assert snapshot["git_remote"] == "https://***@example.org/digits.git"
    assert snapshot["libraries"]["pytest"] == pytest.__version__
    assert real_server.call("GET", f"/api/batches/{run.id}/log-lines?limit=500&q=git%20diff")["items"] == []


def test_a_service_without_files_gets_the_diff_as_log_lines_and_nothing_waits(
    server: FakeIngest, checkout: Path, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "train.py").write_text("lr = 0.2\n")
    monkeypatch.chdir(checkout)
    run = svc.init("vision", url=server.url, token=server.token, quiet=True, config={"lr": 0.2})
    run.log({"loss": 1})
    until(lambda: run.delivery.files == run.delivery.files_dropped == 3)
    run.finish()
    assert run.delivery.complete
    assert list((spill / "files" / "todo").iterdir()) == list((spill / "files" / "content").iterdir()) == []
    assert ["+lr = 0.2" in event["data"]["line"] for event in server.of("log_line")] == [False, True]


def test_requirements_are_those_of_pip_freeze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch-2.9.0.dist-info", "My_Tool-1.0.dist-info", "old-0.3-py3.11.egg-info", "no_version.dist-info"):
        (tmp_path / name).mkdir()
    source = {
        "url": "https://ada:hunter2hunter2@example.org/tool.git",
        "vcs_info": {"vcs": "git", "commit_id": "abc123"},
    }
    (tmp_path / "My_Tool-1.0.dist-info" / "direct_url.json").write_text(json.dumps(source))
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "is-not-there")])
    assert distributions.requirements().decode().splitlines() == [
        "My_Tool @ git+https://***@example.org/tool.git@abc123",
        "old==0.3",
        "torch==2.9.0",
    ]


def test_the_versions_of_imported_libraries_come_from_the_folders_of_their_distributions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Pillow-11.0.0.dist-info", "my_tool-1.0.dist-info", "not_imported-2.0.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "here.egg-info").mkdir()  # as `setup.py develop` leaves it
    (tmp_path / "here.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: here\nVersion: 0.1.dev3\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for module in ("PIL", "my_tool.parts", "here", "no_distribution"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    found = distributions.imported_versions()
    assert {"Pillow": "11.0.0", "my_tool": "1.0", "here": "0.1.dev3"}.items() <= found.items()
    assert not {"not_imported", "no_distribution", "PIL"} & set(found)


def test_a_traceback_of_a_deep_recursion_keeps_its_first_and_last_calls() -> None:
    def odd(n: int) -> None:
        even(n)

    def even(n: int) -> None:
        if n == 0:
            raise ValueError("at the bottom")
        odd(n - 1)

    try:
        even(400)
    except ValueError as error:
        text = full_trace(error) or ""
    assert text.startswith("Traceback (most recent call last):")
    assert "ValueError: at the bottom" in text
    assert "characters left out" in text
    assert len(text) < LIMIT + 100
