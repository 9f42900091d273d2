"""Media and artifacts against the real service: sent, killed, read back and downloaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import svc_reporter as svc
from svc_reporter.query import Api, QueryError

from .kit.real_server import ROOT, RealServer

# Whole processes against the real service.
pytestmark = pytest.mark.slow

QUIET: dict[str, Any] = {"resources_s": 0, "environment": False, "console": False, "quiet": True}
SOURCE = str(ROOT / "python" / "reporter" / "src")


@pytest.fixture
def begin(real_server: RealServer) -> Callable[..., svc.Run]:
    def make(**arguments: Any) -> svc.Run:
        target = {"url": real_server.url, "token": real_server.token}
        return svc.init(**{"project": f"files-{uuid4().hex[:8]}", **target, **QUIET, **arguments})

    return make


@pytest.fixture
def api(real_server: RealServer) -> Api:
    return Api(real_server.url, real_server.session)


def test_an_artifact_is_stored_used_and_downloaded(
    begin: Callable[..., svc.Run], api: Api, real_server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.pt").write_bytes(b"weights 0")
    maker = begin()
    artifact = maker.log_artifact("model.pt", name="resnet", type="model", aliases=["best"]).wait(30)
    assert (artifact.version, artifact.state) == ("v0", "committed")
    made = svc.Artifact("resnet", type="model", metadata={"acc": 0.9})
    with made.new_file("model.pt") as file:
        file.write("weights 1")
    with made.new_file("config/model.yaml") as file:
        file.write("depth: 3")
    assert maker.log_artifact(made).wait(30).version == "v1"
    maker.finish()

    user = begin(project=maker.project)
    assert Path(user.use_artifact("resnet:best").download(), "model.pt").read_bytes() == b"weights 0"
    latest = user.use_artifact("resnet")
    folder = Path(latest.download(root="here"))
    assert (folder / "config" / "model.yaml").read_text() == "depth: 3"
    assert (latest.name, latest.type, latest.metadata) == ("resnet:v1", "model", {"acc": 0.9})
    with pytest.raises(svc.CommError):
        user.use_artifact("nothing:v0")
    user.finish()
    path = f"/api/projects/{maker.project}/artifacts/resnet/v0/lineage"
    assert [one["batch_id"] for one in real_server.call("GET", path)["used_by"]] == [user.id]

    monkeypatch.setenv("SVC_READ_TOKEN", real_server.session or "")
    assert [one.logged_by().id for one in (latest, api.artifact(f"{maker.project}/resnet"))] == [maker.id, maker.id]

    found = api.artifact(f"{maker.project}/resnet:best")
    (folder / "model.pt").write_text("changed by hand")
    assert Path(found.download(folder, only_changed=True), "model.pt").read_bytes() == b"weights 0"
    assert [one["name"] for one in api.artifacts(maker.project, type="model")] == ["resnet"]
    run = api.run(f"me/{maker.project}/{maker.id}")
    assert [(one.name, one.aliases) for one in run.logged_artifacts()] == [
        ("resnet:v0", ["best"]),
        ("resnet:v1", ["latest"]),
    ]
    used = api.run(str(user.id)).used_artifacts()
    assert [(one.name, one.type, len(one.files())) for one in used] == [
        ("resnet:v0", "model", 1),
        ("resnet:v1", "model", 2),
    ]
    assert Path(used[0].download(tmp_path / "again"), "model.pt").read_bytes() == b"weights 0"
    assert (run.used_artifacts(), api.run(str(user.id)).logged_artifacts()) == ([], [])
    assert [one.version for one in api.artifacts("model", f"me/{maker.project}/resnet")] == ["v1", "v0"]
    assert api.artifact_exists(f"{maker.project}/resnet:best", type="model")
    assert not api.artifact_exists(f"{maker.project}/resnet:none")
    with pytest.raises(QueryError, match="dataset"):
        api.artifact(f"{maker.project}/resnet:best", type="dataset")
    project = api.project(f"me/{maker.project}")
    assert (project.name, project.url) == (maker.project, f"{real_server.url}/p/{maker.project}")
    assert maker.project in [one.name for one in api.projects("me")]


def test_both_runs_that_log_the_same_files_have_logged_the_version(
    begin: Callable[..., svc.Run], api: Api, tmp_path: Path
) -> None:
    (tmp_path / "model.pt").write_bytes(b"the same")
    first = begin()
    second = begin(project=first.project, reinit="create_new")
    for run in (first, second):
        assert run.log_artifact(tmp_path / "model.pt", name="same", type="model").wait(30).version == "v0"
    for run in (first, second):
        run.finish()
        assert [one.name for one in api.run(str(run.id)).logged_artifacts()] == ["same:v0"]


def test_the_command_line_of_artifacts(begin: Callable[..., svc.Run], real_server: RealServer, tmp_path: Path) -> None:
    run = begin()
    run.log({"loss": 1})
    run.finish()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one")
    (tmp_path / "data" / "b.txt").write_text("two")

    def call(*words: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": SOURCE}
        env |= {"SVC_URL": real_server.url, "SVC_TOKEN": token or real_server.session or ""}
        return subprocess.run(
            [sys.executable, "-m", "svc_reporter", *words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    name = f"{run.project}/words"
    put = call("artifact", "put", f"{name}:best", "data", "--type", "dataset", token=real_server.token)
    assert (put.returncode, put.stdout) == (0, "words\tv0\n"), put.stderr
    assert call("artifact", "get", f"{name}:best", "--to", "art").stdout == "art\n"
    assert (tmp_path / "art" / "b.txt").read_text() == "two"
    [listed] = json.loads(call("artifact", "ls", run.project, "--json").stdout)
    assert (listed["name"], listed["type"], listed["latest"]) == ("words", "dataset", "v0")
    assert call("artifact", "get", name + ":none").returncode == 1
    assert call("artifact", "ls", token="wrong").returncode == 2
