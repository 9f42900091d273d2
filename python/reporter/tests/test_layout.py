"""Where the modules of the package are, and which of them may import which."""

from __future__ import annotations

import ast
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from svc_reporter._capture import media
from svc_reporter._delivery import delivery
from svc_reporter._process import ranks
from svc_reporter._run import artifact, job, reporter, run
from svc_reporter._shared import errors, unsupported
from svc_reporter._wandb import calls

SOURCE = Path(__file__).resolve().parents[1] / "src"
ORDER = (
    *("_version", "_shared", "errors", "_disk", "_delivery", "_process", "_capture", "plot", "query", "_run"),
    *("_sweeps", "integrations", "_wandb", "importing", "", "_cli", "__main__", "hydra_plugins"),
)
"""Folders and modules of the package, each above all that it may import; `""` is the package itself, as scripts see it.
docs/architecture.md says what each does."""
MOVED = {
    "_artifact Artifact": artifact.Artifact,
    "_calls Settings": calls.Settings,
    "_copies restore": reporter.restore,
    "_delivery Delivery": delivery.Delivery,
    "_errors StopRequested": errors.StopRequested,
    "_job _restore": job._restore,
    "_media Table": media.Table,
    "_ranks PacedAgreement": ranks.PacedAgreement,
    "_run _unpickled": run._unpickled,
    "_unsupported Nothing": unsupported.Nothing,
}
"""What pickles of releases up to 0.2.0 name."""


@pytest.mark.parametrize("earlier", MOVED)
def test_pickles_of_earlier_releases_find_what_has_moved(earlier: str) -> None:
    module, name = earlier.split()
    assert pickle.loads(f"csvc_reporter.{module}\n{name}\n.".encode()) is MOVED[earlier]


def test_modules_import_only_from_their_own_folder_and_those_below() -> None:
    for module in _modules():
        for imported, _ in _imports(module):
            assert ORDER.index(_part(imported)) <= ORDER.index(_part(module)), f"{module} imports {imported}"


def test_no_modules_import_each_other_when_they_are_loaded_or_for_their_types() -> None:
    graph = {module: {imported for imported, late in _imports(module) if not late} for module in _modules()}
    TopologicalSorter(graph).prepare()  # raises CycleError with the modules


def test_the_watchdog_finds_no_module_of_this_package_in_place_of_one_of_python() -> None:
    # It runs as a script, and Python searches the script's folder first.
    names = {path.stem for path in (SOURCE / "svc_reporter" / "_process").glob("*.py")}
    assert not names & sys.stdlib_module_names


@cache
def _modules() -> dict[str, Path]:
    paths = [path for path in SOURCE.rglob("*.py") if "as_wandb" not in path.parts]
    names = (".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths)
    return {name.removesuffix(".__init__"): path for name, path in zip(names, paths, strict=True)}


def _part(module: str) -> str:
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "svc_reporter" else package


def _imports(module: str) -> Iterator[tuple[str, bool]]:
    """The modules of the package that a module imports, and whether only a call of a function does it."""
    path = _modules()[module]
    tree = ast.parse(path.read_text("utf-8"))
    inside = {
        id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: (-node.level + (path.name == "__init__.py")) or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [one if (one := f"{base}.{name.name}") in _modules() else base for name in node.names]
        else:
            continue
        yield from ((name, id(node) in inside) for name in names if name in _modules())
