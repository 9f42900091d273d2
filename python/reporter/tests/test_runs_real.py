"""`Api().runs()` as scripts for W&B call it, and 3D objects, against the real service."""

from __future__ import annotations

import io
import json
import secrets
import sys
from pathlib import Path
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter.errors import CommError, UsageError
from svc_reporter.query import Api

from .kit.real_server import RealServer

QUIET: dict[str, Any] = {"stop_poll_s": 0, "heartbeat_s": 0, "resources_s": 0, "environment": False, "console": False}
PROJECT = f"runs-{secrets.token_hex(4)}"


@pytest.fixture(scope="module")
def api(real_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """Four runs: a, b and c end, d goes on failing."""
    folder = tmp_path_factory.mktemp("spill")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_REPORTER_DIR", str(folder))
        for at, name in enumerate("abcd"):
            config = {"lr": 10.0**-at, "opt": {"name": "adam"}}
            more: dict[str, Any] = {"group": "g" if at < 2 else None, "tags": [name, "all"], "job_type": "train"}
            run = svc.init(
                PROJECT, url=real_server.url, token=real_server.token, name=name, config=config, **more, **QUIET
            )
            for step in range(3):
                run.log({"loss": at + 1 / (step + 1), "acc": {"top1": step / 4}, "epoch": step})
            run.log({"rare": 7.0})
            run.summary["best"] = at
            if at == 0:
                cloud = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
                (folder / "x.pdb").write_text("HEADER\n")
                run.log({"cloud": svc.Object3D({"type": "lidar/beta", "points": cloud}), "loss": 9.0})
                run.log(
                    {
                        "protein": [
                            svc.Molecule(str(folder / "x.pdb")),
                            svc.Molecule(io.StringIO("ATOM\n"), file_type="pdb"),
                        ]
                    }
                )
            run.finish(1 if name == "d" else 0)
    return Api(real_server.url, real_server.session or real_server.token)


def names(api: Api, filters: dict[str, Any] | None = None, **more: Any) -> list[str]:
    return [run.name for run in api.runs(f"me/{PROJECT}", filters, **more)]


def test_runs_have_a_length_an_order_and_indexes(api: Api) -> None:
    runs = api.runs(PROJECT, order="-created_at", per_page=2)
    assert (len(runs), runs[0].name, runs[-1].name) == (4, "d", "a")
    assert [run.name for run in runs[1:3]] == ["c", "b"]
    assert names(api, order="+summary_metrics.loss") == ["b", "c", "d", "a"]
    assert names(api, order="+config.lr") == ["d", "c", "b", "a"]
    with pytest.raises(UsageError, match="order"):
        api.runs(PROJECT, order="colour")
    with pytest.raises(UsageError, match="project"):
        api.runs("a/b/c")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"state": "finished"}, "abc"),
        ({"state": {"$in": ["failed", "crashed"]}}, "d"),
        ({"display_name": "b"}, "b"),
        ({"display_name": {"$regex": "^[ab]$"}}, "ab"),
        ({"tags": {"$in": ["a", "d"]}}, "ad"),
        ({"tags": "c"}, "c"),
        ({"group": "g"}, "ab"),
        ({"group": None}, "cd"),
        ({"jobType": "train", "config.lr": {"$lt": 0.5, "$gt": 0.005}}, "bc"),
        ({"config.lr.value": 1.0}, "a"),
        ({"config.opt.name": {"$ne": "adam"}}, ""),
        ({"config.none": {"$exists": False}}, "abcd"),
        ({"summary_metrics.best": {"$gte": 2}}, "cd"),
        ({"$or": [{"config.lr": 1.0}, {"$and": [{"state": "failed"}, {"tags": "all"}]}]}, "ad"),
        ({"$nor": [{"group": "g"}]}, "cd"),
        ({"config.lr": {"$not": {"$lt": 0.5}}}, "a"),
    ],
)
def test_filters_are_those_of_w_and_b(api: Api, filters: dict[str, Any], found: str) -> None:
    assert sorted(names(api, filters)) == list(found)


@pytest.mark.parametrize("filters", [{"colour": 1}, {"$where": "x"}, {"config.lr": {"$near": 1}}])
def test_a_filter_that_cannot_be_answered_is_refused(api: Api, filters: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="not known"):
        len(api.runs(PROJECT, filters))


def test_a_run_has_its_config_summary_and_every_step(api: Api, real_server: RealServer) -> None:
    [run] = api.runs(PROJECT, {"display_name": "b"})
    assert (run.state, run.group, sorted(run.tags), run.project) == ("finished", "g", ["all", "b"], PROJECT)
    assert run.config == {"lr": 0.1, "opt": {"name": "adam"}}
    assert (run.summary["loss"], run.summary["best"], run.summary.get("none")) == (1 + 1 / 3, 1, None)
    assert run.summary._json_dict["acc/top1"] == 0.5
    assert run.url == f"{real_server.url}/b/{run.id}"
    rows = list(run.scan_history(keys=["_step", "loss"]))
    assert rows == [{"_step": step, "loss": 1 + 1 / (step + 1)} for step in range(3)]
    assert [row["epoch"] for row in run.scan_history(["epoch"])] == [0, 1, 2]
    every = run.history(pandas=False)
    assert [row["_step"] for row in every] == [0, 1, 2, 3]
    assert every[3]["rare"] == 7.0
    assert list(run.scan_history(["loss"], min_step=1, max_step=2)) == [{"loss": 1.5}]
    of_keys = run.history(keys=["loss"], x_axis="epoch", pandas=False)
    assert of_keys == [{"epoch": step, "loss": 1 + 1 / (step + 1)} for step in range(3)]
    assert [row["_step"] for row in run.history(keys=["loss"], pandas=False)] == [0, 1, 2]
    assert api.run(f"me/{PROJECT}/{run.id}").name == "b"
    assert run.lastHistoryStep == 3
    with pytest.raises(CommError):
        api.run("me/x/no-such-run")
    assert (run.logged_artifacts(), json.loads(run.json_config)["lr"]) == ([], {"value": 0.1})
    with pytest.raises(CommError):
        run.file("no-such-file")


def test_3d_objects_and_molecules_are_files_of_the_run(api: Api, tmp_path: Path) -> None:
    [run] = api.runs(PROJECT, {"display_name": "a"})
    files = {one.name: one for one in run.files()}
    assert sorted(files) == ["objects/cloud/4.pts.json", "objects/protein/5-1.pdb", "objects/protein/5.pdb"]
    cloud = files["objects/cloud/4.pts.json"].download(tmp_path)
    assert json.loads(cloud.read())["points"][1] == [3.0, 4.0, 5.0]
    assert (Path(cloud), json.loads(cloud.read_text())["type"]) == (tmp_path / "objects/cloud/4.pts.json", "lidar/beta")
    one = run.file("objects/cloud/4.pts.json")
    with pytest.raises(ValueError, match="exist_ok"):
        one.download(tmp_path)
    (tmp_path / "objects/cloud/4.pts.json").write_text("mine")
    assert one.download(str(tmp_path), exist_ok=True).read() == "mine"
    assert one.download(tmp_path, replace=True).read().startswith("{")
    assert [file.name for file in run.files(pattern="%.pdb")] == ["objects/protein/5-1.pdb", "objects/protein/5.pdb"]
    assert run.summary["loss"] == 9.0


def test_a_molecule_of_smiles_needs_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(svc.Error, match="pip install rdkit"):
        svc.Molecule.from_smiles("CCO")


def test_objects_of_other_formats_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(ValueError, match="glb"):
        svc.Object3D(str(tmp_path / "x.txt"))
    with pytest.raises(ValueError, match="pdb"):
        svc.Molecule(str(tmp_path / "x.txt"))
    with pytest.raises(ValueError, match="path"):
        svc.Molecule(7)
