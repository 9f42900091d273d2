"""`init(mirror=)` and `patch_tensorboard`, with stand-ins for the other tools."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._run.mirror import checked, numbers_in

from .kit.fake_ingest import FakeIngest


class _Writer:
    """Takes the calls of a SummaryWriter."""

    made: list[_Writer]

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.calls: list[tuple[Any, ...]] = []
        type(self).made.append(self)

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None:
        self.calls.append((tag, scalar_value, global_step))

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, float], global_step: int | None = None) -> None: ...

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any]) -> None: ...

    def add_text(self, tag: str, text_string: str, global_step: int | None = None) -> None:
        self.calls.append((tag, text_string, global_step))

    def close(self) -> None:
        self.calls.append(("closed",))


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> type[_Writer]:
    """tensorboardX, and no torch."""

    class Writer(_Writer):
        made: list[_Writer] = []  # noqa: RUF012 - one list for each test

    package, module = types.ModuleType("tensorboardX"), types.ModuleType("tensorboardX.writer")
    for one in (package, module):
        one.__dict__["SummaryWriter"] = Writer
    monkeypatch.setitem(sys.modules, "tensorboardX", package)
    monkeypatch.setitem(sys.modules, "tensorboardX.writer", module)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    return Writer


@pytest.fixture
def start(server: FakeIngest) -> Callable[..., svc.Run]:
    def begin(**more: Any) -> svc.Run:
        quiet: dict[str, Any] = {"console": False, "environment": False, "quiet": True, "resources_s": 0}
        return svc.init("vision", url=server.url, token=server.token, stop_poll_s=0, **quiet, **more)

    return begin


def _epochs(server: FakeIngest) -> list[dict[str, Any]]:
    return [event["data"] for event in server.events if event["event_type"] == "job_epoch"]


def test_a_mirror_gets_the_numbers_with_their_steps_and_the_configuration(
    server: FakeIngest, start: Callable[..., svc.Run], writers: type[_Writer]
) -> None:
    with start(config={"lr": 0.1}, mirror="tensorboard") as run:
        run.log({"loss": 1.0, "acc": {"top1": 0.5}})
        run.log({"loss": 0.5}, step=7)
        run.config.update({"late": 1})
    [writer] = writers.made
    assert writer.folder == f"runs/{run.id}"
    scalars = [call for call in writer.calls if len(call) == 3 and call[0] != "config"]
    assert scalars == [("loss", 1.0, 0), ("acc/top1", 0.5, 0), ("loss", 0.5, 7)]
    assert writer.calls[-1] == ("closed",)
    assert "late: 1" in writer.calls[-2][1]
    assert [data["epoch"] for data in _epochs(server)] == [0, 7]


def test_a_mirror_that_is_not_there_or_fails_harms_nothing(
    server: FakeIngest, start: Callable[..., svc.Run], writers: type[_Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with start(mirror="mlflow") as run:
        run.log({"loss": 1.0})

    def broken(*_args: Any) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr(writers, "add_scalar", broken)
    with start(mirror="tensorboard") as run:
        run.log({"loss": 1.0})
    assert len(_epochs(server)) == 2
    with pytest.raises(ValueError, match="mirror must be"):
        start(mirror="comet")
    assert checked("wandb") == "wandb"
    assert numbers_in({"a": 1, "b": {"c": True}, "text": "x", "none": None}) == {"a": 1, "b/c": 1}


def test_a_tapped_writer_reports_to_the_current_run(
    server: FakeIngest, start: Callable[..., svc.Run], writers: type[_Writer]
) -> None:
    undo = svc.patch_tensorboard()
    writer: Any = writers("logs")
    writer.add_scalar("before", 1.0, 0)  # no run: written there only
    with start() as run:
        svc.patch_tensorboard()  # twice is once
        writer.add_scalar("loss", 1.0, 3)
        writer.add_scalar("loss", 0.5, global_step=4)
        writer.add_scalars("acc", {"train": 0.1, "val": 0.2}, 4)
        writer.add_hparams({"lr": 0.1}, {"best": 0.9})
        undo()
        writer.add_scalar("loss", 9.0, 5)
        assert dict(run.config) == {"lr": 0.1}
    assert _epochs(server) == [
        {"loss": 1.0, "epoch": 3},
        {"loss": 0.5, "epoch": 4},
        {"acc/train": 0.1, "acc/val": 0.2, "epoch": 4},
    ]
    assert writer.calls == [("before", 1.0, 0), ("loss", 1.0, 3), ("loss", 0.5, 4), ("loss", 9.0, 5)]
