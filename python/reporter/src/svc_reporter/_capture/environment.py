"""Records the environment of a run: versions, GPUs, git, cluster. Each part can be switched off by its name."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .distributions import imported_versions
from .gpu import Gpus

PARTS = ("libraries", "gpus", "git", "diff", "entry", "cluster")
"""`init(environment=...)`: True for all, False for none, or the names of the parts.

The interpreter, the command, the working directory, the host and the commit are always recorded, because a rerun needs
them. Names of environment variables are recorded, their values are not.
"""

_CLUSTER = {
    "slurm": {
        "SLURM_JOB_ID": "job_id",
        "SLURM_ARRAY_JOB_ID": "array_job_id",
        "SLURM_ARRAY_TASK_ID": "array_task_id",
        "SLURM_JOB_NAME": "job_name",
        "SLURM_JOB_PARTITION": "partition",
        "SLURM_JOB_NODELIST": "nodes",
        "SLURM_NNODES": "n_nodes",
        "SLURM_NTASKS": "n_tasks",
        "SLURM_CLUSTER_NAME": "cluster",
    },
    "kubernetes": {
        "HOSTNAME": "pod",
        "POD_NAME": "pod",
        "POD_NAMESPACE": "namespace",
        "NODE_NAME": "node",
        "JOB_NAME": "job_name",
        "JOB_COMPLETION_INDEX": "index",
    },
}
_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def wanted_parts(environment: bool | Iterable[str]) -> frozenset[str]:
    """The parts to record. Raises ValueError for an unknown name, TypeError if it is no list of names."""
    if isinstance(environment, bool):
        return frozenset(PARTS) if environment else frozenset()
    if isinstance(environment, str) or not isinstance(environment, Iterable):
        raise TypeError("environment must be True, False or a list of names")
    named = frozenset(environment)
    unknown = sorted(str(name) for name in named - set(PARTS))
    if unknown:
        raise ValueError(f"environment: {', '.join(unknown)} is unknown; the parts are {', '.join(PARTS)}")
    return named


def environment(parts: frozenset[str]) -> dict[str, Any]:
    """Fast facts for the batch's `env_snapshot`; git is asked later (git.py). Never raises: what fails is left out."""
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "libraries": lambda: {
            "python_implementation": platform.python_implementation(),
            "libraries": imported_versions(),
        },
        "gpus": gpu_names,
        "entry": lambda: {"entry_file": entry_file()},
        "cluster": lambda: cluster(os.environ),
    }
    found: dict[str, Any] = {}
    for name, make in makers.items():
        if name not in parts:
            continue
        try:
            found.update({key: value for key, value in make().items() if value})
        except Exception:  # noqa: S112 - a broken installation: its facts are missing
            continue
    return found


def gpu_names() -> dict[str, Any]:
    """Names of the visible GPUs and the driver version (nvidia-ml-py), and the CUDA version of torch if imported."""
    facts: dict[str, Any] = {}
    gpus = Gpus()
    rows = gpus.rows()
    if rows:
        facts["gpu_names"] = [str(row.get("name", "unknown")) for row in rows]
    nvml: Any = gpus._nvml
    if nvml is not None:
        version = nvml.nvmlSystemGetDriverVersion()
        facts["gpu_driver"] = version.decode() if isinstance(version, bytes) else str(version)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        facts["cuda"] = getattr(getattr(torch, "version", None), "cuda", None)
    return facts


def entry_file() -> str | None:
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    return os.path.abspath(path) if path else None


def cluster(env: Mapping[str, str]) -> dict[str, Any]:
    """Ids of the process in Slurm and Kubernetes; empty elsewhere."""
    found: dict[str, Any] = {}
    if env.get("SLURM_JOB_ID"):
        found["slurm"] = {key: env[name] for name, key in _CLUSTER["slurm"].items() if env.get(name)}
    if env.get("KUBERNETES_SERVICE_HOST"):
        facts = {key: env[name] for name, key in _CLUSTER["kubernetes"].items() if env.get(name)}
        if "namespace" not in facts and _NAMESPACE.exists():
            facts["namespace"] = _NAMESPACE.read_text("utf-8").strip()
        found["kubernetes"] = facts
    return found


def fitting(fields: dict[str, Any], limit: int) -> tuple[dict[str, Any], list[str]]:
    """Fields whose JSON fits into `limit` bytes, and the names of the largest ones, which are left out."""
    sizes = {
        key: len(json.dumps([key, value], ensure_ascii=False, default=str).encode("utf-8", "surrogatepass"))
        for key, value in fields.items()
    }
    left_out: list[str] = []
    total = sum(sizes.values())
    for key in sorted(sizes, key=lambda one: sizes[one], reverse=True):
        if total <= limit:
            break
        total -= sizes[key]
        left_out.append(key)
    return {key: value for key, value in fields.items() if key not in left_out}, left_out
