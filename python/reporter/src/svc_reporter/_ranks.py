"""Which process of a distributed training this is: one of them reports, the others stay silent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

_RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
_SIZE = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")


def rank(env: Mapping[str, str] | None = None) -> int:
    """The first of RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK that is set; 0 without any.

    In that order: under `srun torchrun`, RANK is the global rank and SLURM_PROCID only the node.
    """
    return _first(_RANK, env, 0)


def world_size(env: Mapping[str, str] | None = None) -> int:
    env = os.environ if env is None else env
    for rank_name, size_name in zip(_RANK, _SIZE, strict=True):
        if _number(env.get(rank_name)) is not None:  # a size without a rank is only an allocation
            return max(1, _number(env.get(size_name)) or 1)
    return 1


def is_worker_process() -> bool:
    """A child made by multiprocessing: a DataLoader worker, a pool's process."""
    process = sys.modules.get("multiprocessing.process")  # always loaded in such a child
    return process is not None and process.parent_process() is not None


def any_rank(flag: bool) -> bool:
    """Whether `flag` is true on any rank, agreed on through torch.distributed where it is running.

    A collective: every rank must call it. Without an initialised process group it is `flag` itself.
    """
    torch: Any = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    try:
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return flag
    except Exception:
        return flag
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    word = torch.tensor([1 if flag else 0], device=device)
    distributed.all_reduce(word, op=distributed.ReduceOp.MAX)
    return bool(word.item())


def _first(names: tuple[str, ...], env: Mapping[str, str] | None, default: int) -> int:
    env = os.environ if env is None else env
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
