"""Records the environment of a run: versions, GPUs, git, cluster. Each part can be switched off by its name."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._shared.redact import MASK, is_secret_name, redact_text
from .gpu import Gpus

PARTS = ("libraries", "gpus", "git", "diff", "entry", "cluster")
"""`init(environment=...)`: True for all, False for none, or the names of the parts.

The interpreter, the command, the working directory, the host and the commit are always recorded, because a rerun needs
them. Names of environment variables are recorded, their values are not.
"""

DIFF_LIMIT = 1024 * 1024
"""Bytes of a git diff; a longer one is cut, with a note."""
DIFF_PART = 60 * 1024
"""Characters of one log line of the diff: an event has at most 256 KiB, a character at most 4 bytes."""
_TIMEOUT_S = 5.0
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
_DISTRIBUTIONS = {
    "PIL": "Pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "faiss": "faiss-cpu",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Distributions with another name than their module. Reading all installed distributions would take a second."""
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


def environment(parts: frozenset[str], cwd: str) -> dict[str, Any]:
    """Additional fields of the batch's `env_snapshot`. Never raises: unavailable parts are left out."""
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "libraries": lambda: {"python_implementation": platform.python_implementation(), "libraries": libraries()},
        "gpus": gpu_names,
        "git": lambda: git_facts(cwd),
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


def libraries() -> dict[str, str]:
    """Version by name of the installed distributions whose modules this process has imported so far."""
    found: dict[str, str] = {}
    for module in sorted({name.partition(".")[0] for name in list(sys.modules)} - sys.stdlib_module_names):
        if module.startswith("_"):
            continue
        for name in (module, _DISTRIBUTIONS.get(module)):
            try:
                if name is not None:
                    found[name] = importlib.metadata.version(name)
            except Exception:  # noqa: S112 - not a distribution of that name, or one without metadata
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


def git_facts(cwd: str) -> dict[str, Any]:
    """The remote without its credentials; commit, branch and dirty state are recorded with every batch."""
    remote = _git(cwd, "config", "--get", "remote.origin.url")
    return {"git_remote": redact_text(remote.strip()) if remote else None}


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


class GitDiff(NamedTuple):
    text: str
    """Without secrets, and cut at DIFF_LIMIT."""
    length: int
    """Of all of it, in bytes."""

    @property
    def is_cut(self) -> bool:
        return self.length > DIFF_LIMIT


def git_diff(cwd: str, env: Mapping[str, str]) -> GitDiff | None:
    """`git diff HEAD`; None without changes."""
    raw = _git_bytes(cwd, "diff", "HEAD", "--no-color", "--no-ext-diff")
    if not raw or not raw.strip():
        return None
    return GitDiff(masked_text(raw[:DIFF_LIMIT].decode("utf-8", "replace"), env), len(raw))


def diff_lines(diff: GitDiff) -> list[str]:
    """A diff in log lines of at most DIFF_PART characters.

    The first line has its length, the number of parts, and whether it was cut at DIFF_LIMIT.
    """
    text = diff.text
    parts = [text[at : at + DIFF_PART] for at in range(0, len(text), DIFF_PART)]
    said = f"git diff against HEAD: {diff.length:,} bytes in {len(parts)} parts"
    if diff.is_cut:
        said += f", of which the first {DIFF_LIMIT:,} bytes are kept"
    return [said, *(f"git diff, part {n} of {len(parts)}\n{part}" for n, part in enumerate(parts, 1))]


def masked_text(text: str, env: Mapping[str, str]) -> str:
    """Code or a diff without the values of secret names, known token formats and secret values of `env`."""
    values = [value for name, value in env.items() if len(value) >= 8 and is_secret_name(name, value)]
    lines = []
    for line in redact_text(text, values).split("\n"):
        name, sign, value = _assignment(line)
        bare = value.strip().strip("\"',;")
        lines.append(
            f"{line[: len(line) - len(value)]} {MASK}" if sign and bare and is_secret_name(name, bare) else line
        )
    return "\n".join(lines)


def _assignment(line: str) -> tuple[str, str, str]:
    """`+ API_KEY = "x"` → its name, sign and value."""
    for sign in ("=", ":"):
        before, found, value = line.partition(sign)
        if found:
            return before.lstrip("+- \t").strip("\"' \t"), found, value
    return "", "", ""


def without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with the values of secret names masked, at any depth."""
    return {key: _without_secret(key, value) for key, value in config.items()}


def _without_secret(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return without_secrets(value)
    if isinstance(value, list):
        return [_without_secret(name, item) for item in value]
    if isinstance(value, str):
        return MASK if value and is_secret_name(name, value) else redact_text(value)
    return value


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


def _git(cwd: str, *arguments: str) -> str | None:
    done = _git_bytes(cwd, *arguments)
    return None if done is None else done.decode("utf-8", "replace")


def _git_bytes(cwd: str, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout if done.returncode == 0 else None
