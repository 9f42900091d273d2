"""The rank of this process in a distributed training. Only rank 0 reports.

Launchers set different variables: torchrun, Accelerate and DeepSpeed set RANK; Slurm SLURM_PROCID; Open MPI, MPICH,
Intel MPI and MVAPICH their own names; Lightning, which starts its ranks itself, only LOCAL_RANK and NODE_RANK.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

_GLOBAL = (
    ("RANK", "WORLD_SIZE"),
    ("GLOBAL_RANK", "WORLD_SIZE"),
)
_STEP = (
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
)
_LOCAL = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK")
_NODE = ("NODE_RANK", "GROUP_RANK")


def rank(env: Mapping[str, str] | None = None) -> int:
    """The rank of this process among all processes of the training; 0 if it is unknown.

    An initialised process group of torch.distributed knows it also where a script has started the processes itself.
    Else RANK and GLOBAL_RANK come first. Then a local rank above 0 takes precedence over the ranks of Slurm and MPI,
    because all ranks that Lightning starts in one Slurm task inherit that task's SLURM_PROCID.
    """
    group = process_group() if env is None else None
    if group is not None:
        return int(group.get_rank())
    env = os.environ if env is None else env
    for name, _ in _GLOBAL:
        number = _number(env.get(name))
        if number is not None:
            return number
    local = _first(_LOCAL, env, 0)
    step = _first(tuple(name for name, _ in _STEP), env, 0)
    node = _first(_NODE, env, 0)
    if local or node:
        return max(step, node * max(1, _first(("LOCAL_WORLD_SIZE",), env, 1)) + local)
    return step


def world_size(env: Mapping[str, str] | None = None) -> int:
    """How many processes train together, from torch.distributed or the environment; 1 if unknown."""
    group = process_group() if env is None else None
    if group is not None:
        return int(group.get_world_size())
    env = os.environ if env is None else env
    for rank_name, size_name in (*_GLOBAL, *_STEP, ("LOCAL_RANK", "WORLD_SIZE")):
        if _number(env.get(rank_name)) is not None:  # a size without a rank describes only the allocation
            return max(1, _number(env.get(size_name)) or 1)
    return 1


def is_worker_process() -> bool:
    """Whether this is a child process of multiprocessing or joblib (DataLoader, pool), or a worker of Ray."""
    process = sys.modules.get("multiprocessing.process")  # always loaded in such a child
    if process is not None and (process.parent_process() is not None or _imports_main_module(process)):
        return True
    ray: Any = sys.modules.get("ray._private.worker")
    worker = getattr(ray, "global_worker", None)
    return worker is not None and getattr(worker, "mode", None) == getattr(ray, "WORKER_MODE", 1)


def is_silent_process() -> bool:
    """Whether no code of the user asked for a run in this process.

    It is a worker of a DataLoader of PyTorch, which runs the dataset's code, or a spawned child that imports the main
    module of the script, where its parent has made the run.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is not None and _imports_main_module(process):
        return True
    workers: Any = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(workers, "_worker_info", None) is not None


def _imports_main_module(process: Any) -> bool:
    """Whether this child, or the server that forks children, is importing the main module of the script.

    Before Python calls a function in a spawned child, it runs the top level of the script there once more. The child
    has no `parent_process()` yet, but this attribute.
    """
    return bool(getattr(process.current_process(), "_inheriting", False))


def any_rank(flag: bool) -> bool:
    """Whether `flag` is true on any rank, by an all-reduce of torch.distributed.

    Every rank must call it. Without an initialised process group it returns `flag`.
    """
    return flag if process_group() is None else bool(_max_over_ranks([int(flag)])[0])


class PacedAgreement:
    """`any_rank` for a call in every step: only some calls are a collective operation, about one every two seconds.

    The ranks also agree on the number of steps until the next one, so that all take part in it. A loop with slow steps
    does it in each step.
    """

    _EVERY_S = 2.0
    _MAX_STEPS = 1_000

    def __init__(self) -> None:
        self._left = 0
        self._steps = 0
        self._asked: float | None = None

    def __call__(self, flag: bool) -> bool:
        if process_group() is None:
            return flag
        self._steps += 1
        if self._left > 0:
            self._left -= 1
            return False
        now = time.monotonic()
        wanted = 1
        if self._asked is not None:
            step_s = max(1e-6, (now - self._asked) / self._steps)
            wanted = max(1, min(self._MAX_STEPS, int(self._EVERY_S / step_s)))
        agreed, fewest = _max_over_ranks([int(flag), -wanted])
        self._asked, self._steps, self._left = now, 0, -fewest - 1
        return bool(agreed)

    def __reduce__(self) -> tuple[Any, ...]:
        return PacedAgreement, ()


def _max_over_ranks(numbers: list[int]) -> list[int]:
    """The maximum of each number over all ranks."""
    torch: Any = sys.modules["torch"]
    distributed = torch.distributed
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    word = torch.tensor(numbers, device=device)
    distributed.all_reduce(word, op=distributed.ReduceOp.MAX)
    return [int(number) for number in word.tolist()]


def process_group() -> Any:
    """torch.distributed if its process group is initialised, else None."""
    torch: Any = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    try:
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return None
        return distributed
    except Exception:
        return None


def _first(names: tuple[str, ...], env: Mapping[str, str], default: int) -> int:
    for name in names:
        number = _number(env.get(name))
        if number is not None:
            return number
    return default


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None
