"""GPU rows through nvidia-ml-py (the `gpu` extra): only the devices that this process may use."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_MIB = 1024 * 1024


class Gpus:
    """`rows()` lists the visible GPUs, keyed by UUID; empty without NVML, a driver or a device."""

    def __init__(self, env: Mapping[str, str] | None = None, nvml: Any = None) -> None:
        self._env = os.environ if env is None else env
        self._nvml: Any = None
        self._handles: list[tuple[int | None, Any]] = []
        try:
            self._nvml = nvml or importlib.import_module("pynvml")
            self._nvml.nvmlInit()
            self._handles = self._visible()
        except Exception:  # NVML's errors are of its own class, known only once it is imported
            self._nvml = None

    def rows(self) -> list[dict[str, Any]]:
        if self._nvml is None:
            return []
        return [row for row in (self._row(index, handle) for index, handle in self._handles) if row]

    def _visible(self) -> list[tuple[int | None, Any]]:
        """CUDA_VISIBLE_DEVICES as CUDA reads it: indices, (shortened) UUIDs or MIG names, up to the first bad one."""
        nvml = self._nvml
        devices = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        wanted = self._env.get("CUDA_VISIBLE_DEVICES")
        if wanted is None or self._env.get("NVIDIA_VISIBLE_DEVICES") == "none":
            return list(enumerate(devices)) if wanted is None else []
        uuids = [_text(nvml.nvmlDeviceGetUUID(device)) for device in devices]
        found: list[tuple[int | None, Any]] = []
        for word in (part.strip() for part in wanted.split(",")):
            if word.isdigit() and int(word) < len(devices):
                found.append((int(word), devices[int(word)]))
            elif word.startswith("MIG-"):
                handle = self._mig(word, devices)
                if handle is None:
                    break
                found.append((None, handle))
            elif word.startswith("GPU-") and any(uuid.startswith(word) for uuid in uuids):
                index = next(i for i, uuid in enumerate(uuids) if uuid.startswith(word))
                found.append((index, devices[index]))
            else:
                break
        return found

    def _mig(self, name: str, devices: list[Any]) -> Any:
        """`MIG-<uuid>`, or the older `MIG-GPU-<uuid>/<instance>/<compute instance>`."""
        nvml = self._nvml
        with suppress(Exception):  # older drivers know no handle by that name: look through the instances
            return nvml.nvmlDeviceGetHandleByUUID(name)
        for device in devices:
            with suppress(Exception):  # a device without MIG, or the end of its instances
                for at in range(nvml.nvmlDeviceGetMaxMigDeviceCount(device)):
                    handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, at)
                    if _text(nvml.nvmlDeviceGetUUID(handle)).startswith(name):
                        return handle
        return None

    def _row(self, index: int | None, handle: Any) -> dict[str, Any]:
        nvml = self._nvml
        row: dict[str, Any] = {} if index is None else {"index": index}

        def add(key: str, read: Any) -> None:
            try:
                row[key] = read()
            except Exception:  # a figure this device does not have: MIG slices have no utilisation
                return

        add("uuid", lambda: _text(nvml.nvmlDeviceGetUUID(handle)))
        add("name", lambda: _text(nvml.nvmlDeviceGetName(handle)))
        add("util_pct", lambda: float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu))
        add("mem_mb", lambda: round(nvml.nvmlDeviceGetMemoryInfo(handle).used / _MIB, 1))
        add("mem_total_mb", lambda: round(nvml.nvmlDeviceGetMemoryInfo(handle).total / _MIB, 1))
        add("temp_c", lambda: float(nvml.nvmlDeviceGetTemperature(handle, 0)))
        add("power_w", lambda: round(nvml.nvmlDeviceGetPowerUsage(handle) / 1000, 1))
        return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of a snapshot that speak of all GPUs: mean utilisation, memory in sum."""
    out: dict[str, Any] = {}
    utils = [row["util_pct"] for row in rows if "util_pct" in row]
    memory = [row["mem_mb"] for row in rows if "mem_mb" in row]
    if utils:
        out["gpu_util_pct"] = round(sum(utils) / len(utils), 2)
    if memory:
        out["gpu_mem_mb"] = round(sum(memory), 1)
    if rows:
        out["gpus"] = rows
    return out


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
