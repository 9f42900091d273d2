"""Resource figures: control groups, psutil, GPUs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from svc_reporter._capture import machine as _machine
from svc_reporter._capture.cgroup import Cgroup
from svc_reporter._capture.gpu import Gpus, summary
from svc_reporter._capture.machine import Machine


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_limits_of_a_version_2_group_are_understood(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/job\n",
            "cg/cgroup.controllers": "cpu memory",
            "cg/job/cpu.max": "50000 100000",
            "cg/job/cpu.stat": "usage_usec 1000000\nuser_usec 1",
            "cg/job/memory.max": str(512 * 2**20),
            "cg/job/memory.current": str(300 * 2**20),
            "cg/job/memory.stat": f"anon 1\ninactive_file {100 * 2**20}",
        },
    )
    group = Cgroup(tmp_path / "cg", tmp_path / "proc")
    assert group.cpu_count() == 0.5
    assert group.memory_limit_mb() == 512
    assert group.memory_used_mb() == 200
    assert group.cpu_util_pct(now=10.0) is None
    _write(tmp_path, {"cg/job/cpu.stat": "usage_usec 1250000"})
    assert group.cpu_util_pct(now=11.0) == 50.0
    assert group.is_limited()


def test_a_version_2_group_without_limits_has_none(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "cg/cgroup.controllers": "cpu memory",
            "cg/cpu.max": "max 100000",
            "cg/memory.max": "max",
        },
    )
    group = Cgroup(tmp_path / "cg", tmp_path / "proc")
    assert not group.is_limited()
    assert group.cpu_count() >= 1


def test_limits_of_version_1_groups_are_understood(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n",
            "cg/cpu/cpu.cfs_quota_us": "100000",
            "cg/cpu/cpu.cfs_period_us": "100000",
            "cg/cpuacct/cpuacct.usage": "2000000000",
            "cg/memory/memory.limit_in_bytes": str(2**30),
            "cg/memory/memory.usage_in_bytes": str(2**29),
            "cg/memory/memory.stat": f"total_inactive_file {2**28}",
        },
    )
    group = Cgroup(tmp_path / "cg", tmp_path / "proc")
    assert group.cpu_count() == 1.0
    assert group.memory_limit_mb() == 1024
    assert group.memory_used_mb() == 256
    group.cpu_util_pct(now=1.0)
    _write(tmp_path, {"cg/cpuacct/cpuacct.usage": "2500000000"})
    assert group.cpu_util_pct(now=2.0) == 50.0
    _write(tmp_path, {"cg/cpu/cpu.cfs_quota_us": "-1", "cg/memory/memory.limit_in_bytes": str(2**63 - 4096)})
    assert not group.is_limited()


@pytest.mark.parametrize("with_psutil", [True, False])
def test_the_machine_is_sampled_with_psutil_and_without(monkeypatch: pytest.MonkeyPatch, with_psutil: bool) -> None:
    if not with_psutil:
        monkeypatch.setattr(_machine, "_optional", lambda _name: None)
    machine = Machine("/")
    sum(range(2_000_000))
    sample = machine.sample()
    assert 0 <= sample["cpu_util_pct"] <= 100
    assert 0 < sample["ram_mb"] <= sample["ram_total_mb"]
    assert 5 < sample["rss_mb"] < sample["ram_total_mb"]
    assert sample["disk_free_mb"] > 0


def test_a_psutil_that_cannot_be_imported_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> Any:
        raise OSError("bad shared object")

    monkeypatch.setattr("importlib.import_module", broken)
    assert Machine("/").sample()["ram_mb"] > 0


class FakeNvml:
    """nvidia-ml-py's functions for two GPUs, the second of which has one MIG slice."""

    uuids = ("GPU-11111111-aaaa", "GPU-22222222-bbbb")
    mig = "MIG-33333333-cccc"

    def nvmlInit(self) -> None:
        """Works."""

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return self.uuids[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        raise RuntimeError("not found")

    def nvmlDeviceGetMaxMigDeviceCount(self, device: str) -> int:
        if device == self.uuids[0]:
            raise RuntimeError("no MIG")
        return 1

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device: str, at: int) -> str:
        return self.mig

    def nvmlDeviceGetUUID(self, handle: str) -> bytes:
        return handle.encode()

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "A100"

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        if handle == self.mig:
            raise RuntimeError("not supported")
        return SimpleNamespace(gpu=40 if handle == self.uuids[0] else 60)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return SimpleNamespace(used=2**30, total=2**31)

    def nvmlDeviceGetTemperature(self, handle: str, kind: int) -> int:
        return 55

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 123_456


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (None, FakeNvml.uuids),
        ("", ()),
        ("-1", ()),
        ("1", FakeNvml.uuids[1:]),
        ("1,0", FakeNvml.uuids[::-1]),
        ("0,7,1", FakeNvml.uuids[:1]),
        ("GPU-2222", FakeNvml.uuids[1:]),
        ("GPU-9999,0", ()),
        ("MIG-33333333-cccc", (FakeNvml.mig,)),
        ("MIG-unknown", ()),
    ],
)
def test_only_the_gpus_that_cuda_visible_devices_names_are_sampled(visible: str | None, uuids: tuple[str, ...]) -> None:
    env = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert tuple(row["uuid"] for row in Gpus(env, FakeNvml()).rows()) == uuids


def test_gpu_rows_carry_the_fields_of_the_contract_and_a_mig_slice_no_utilisation() -> None:
    rows = Gpus({}, FakeNvml()).rows()
    assert rows[0] == {
        "index": 0,
        "uuid": "GPU-11111111-aaaa",
        "name": "A100",
        "util_pct": 40.0,
        "mem_mb": 1024.0,
        "mem_total_mb": 2048.0,
        "temp_c": 55.0,
        "power_w": 123.5,
    }
    assert summary(rows) == {"gpu_util_pct": 50.0, "gpu_mem_mb": 2048.0, "gpus": rows}
    (slice_row,) = Gpus({"CUDA_VISIBLE_DEVICES": FakeNvml.mig}, FakeNvml()).rows()
    assert "util_pct" not in slice_row
    assert "gpu_util_pct" not in summary([slice_row])


def test_a_machine_without_nvml_has_no_rows() -> None:
    assert Gpus({}, SimpleNamespace()).rows() == []
    assert summary([]) == {}
