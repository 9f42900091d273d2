"""Values of any kind in a configuration, parameters, metrics and the summary: bounded, complete, and never an error."""

from __future__ import annotations

import dataclasses
import time
from collections import ChainMap, UserDict, UserList, UserString, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy
import pytest

import svc_reporter as svc
from svc_reporter._shared import plain as _plain
from svc_reporter._shared.plain import CIRCULAR, LEFT_OUT, plain

from .kit.fake_ingest import FakeIngest

Make = Callable[..., svc.Reporter]
QUIET: dict[str, Any] = {"environment": False, "console": False, "resources_s": 0, "stop_poll_s": 0, "quiet": True}


class Broken(Mapping[str, Any]):
    """Like a configuration with one value that cannot be resolved."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        if isinstance(value, Exception):
            raise value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Lazy(Sequence[Any]):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, at: Any) -> Any:
        if at == 1:
            raise OSError("not downloaded")
        return at


class Unreadable:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("str")

    __repr__ = __str__


@dataclasses.dataclass(eq=False)
class Node:
    name: str
    parent: Node | None = None
    children: list[Node] = dataclasses.field(default_factory=list)


def _tree(depth: int, parent: Node | None = None) -> Node:
    node = Node(f"n{depth}", parent)
    node.children = [_tree(depth - 1, node) for _ in range(4)] if depth else []
    return node


def _braid() -> dict[str, Any]:
    """No cycle, 2^60 paths."""
    inner: dict[str, Any] = {"x": 1}
    for _ in range(60):
        inner = {"a": inner, "b": inner}
    return inner


def _cycle() -> dict[str, Any]:
    cyclic: dict[str, Any] = {"lr": 0.1}
    cyclic["a"] = cyclic["b"] = cyclic
    return cyclic


@pytest.fixture
def run(server: FakeIngest) -> Iterator[svc.Run]:
    with svc.init("vision", url=server.url, token=server.token, **QUIET) as opened:
        yield opened


def test_a_value_that_contains_itself_ends_there() -> None:
    items: list[Any] = [1]
    items.append(items)
    assert plain(_cycle()) == {"lr": 0.1, "a": CIRCULAR, "b": CIRCULAR}
    assert plain(items) == [1, CIRCULAR]
    shared = {"x": 1}
    assert plain([shared, shared]) == [{"x": 1}, {"x": 1}]
    tree = plain(_tree(2))
    assert tree["children"][3]["parent"] == CIRCULAR
    assert tree["children"][3]["children"][3] == {"name": "n0", "parent": CIRCULAR, "children": []}


@pytest.mark.parametrize("make", [_braid, lambda: _tree(8), lambda: _tree(8).children[0].children[1]])
def test_the_number_of_values_is_bounded(make: Callable[[], Any]) -> None:
    begin = time.process_time()
    made = plain({"graph": make(), "lr": 0.1})
    assert made["lr"] == 0.1
    assert LEFT_OUT in str(made)
    assert time.process_time() - begin < 2 * _plain.MAX_S


def test_the_time_is_bounded_and_costs_no_simple_value(monkeypatch: pytest.MonkeyPatch, server: FakeIngest) -> None:
    class Slow(Broken):
        def __getitem__(self, key: str) -> Any:
            time.sleep(0.03)
            return 1

    monkeypatch.setattr(_plain, "MAX_S", 0.1)
    slow = Slow(**{f"k{n}": n for n in range(1_000)})
    config = {"data": slow, "more": slow, "lr": 0.1}
    with svc.init("vision", url=server.url, token=server.token, config=config, **QUIET):
        pass
    stored = server.of("batch_start")[0]["data"]["config"]
    assert stored["lr"] == 0.1
    assert stored["more"] == LEFT_OUT
    assert 0 < len(stored["data"]) < 10
    assert stored["data"]["…"] == LEFT_OUT


def test_any_sequence_is_a_list_and_any_mapping_a_dictionary() -> None:
    assert plain([deque([1, 2]), UserList([1]), range(3), frozenset({4}), {5: 1}.keys()]) == [
        [1, 2],
        [1],
        [0, 1, 2],
        [4],
        [5],
    ]
    assert plain(UserString("text")) == "text"
    assert plain([UserDict(a=1), ChainMap({"a": 1}), MappingProxyType({"a": 1})]) == [{"a": 1}] * 3
    assert plain(b"\x00") == "b'\\x00'"


def test_what_cannot_be_read_is_its_text_and_costs_no_other_value() -> None:
    config = Broken(lr=0.1, data=KeyError("???"), nested=Broken(width=64, depth=ValueError("no such key")))
    assert plain(config) == {
        "lr": 0.1,
        "data": "<not readable: KeyError>",
        "nested": {"width": 64, "depth": "<not readable: ValueError>"},
    }
    assert plain(Lazy()) == [0, "<not readable: OSError>", 2]
    assert plain({"a": Unreadable(), "b": 1, Path("x"): 2}) == {"a": "<Unreadable: not readable>", "b": 1, "x": 2}


def test_no_exception_of_a_users_object_leaves_a_call(
    server: FakeIngest, run: svc.Run, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Unreadable()
    broken = Broken(bad=RuntimeError("x"), good=1)
    run.config.update(broken)
    run.config.update({"bad2": bad, bad: 3})
    run.config["cycle"] = _cycle()
    run.config["cycle"] = _cycle()
    run.summary["bad"] = bad
    run.summary[bad] = 1  # type: ignore[index]
    run.summary.update(broken)
    run.summary["cycle"] = _cycle()
    run.log(broken, step=1)
    run.log({"loss": 0.5, "bad": bad, bad: 1, "graph": _cycle(), "braid": _braid()}, step=2)  # type: ignore[dict-item]
    run.log({"loss": 0.25}, step=bad)
    run.text(bad)
    run.alert(bad)  # type: ignore[arg-type]
    with run.job(bad, bad=bad) as job:  # type: ignore[arg-type]
        job.epoch(0, bad=bad, loss=1)
        job.log(bad)
        job.done(broken)
    run.finish()
    again = svc.init("vision", url=server.url, token=server.token, config=broken, **QUIET)
    again.finish()
    with make(config=_cycle(), batch_id="b"):
        pass
    assert capsys.readouterr().err == ""
    starts = {event["batch_id"]: event["data"].get("config") for event in server.of("batch_start")}
    assert starts[again.id] == {"bad": "<not readable: RuntimeError>", "good": 1}
    assert starts["b"] == {"lr": 0.1, **{key: {"lr": 0.1, "a": CIRCULAR, "b": CIRCULAR} for key in "ab"}}
    losses = [(e["data"]["epoch"], e["data"]["loss"]) for e in server.of("job_epoch") if "loss" in e["data"]]
    # Events of two jobs may arrive in any order.
    assert sorted(losses) == [(0, 1), (2, 0.5), (3, 0.25)]
    rows = {e["data"]["epoch"]: e["data"] for e in server.of("job_epoch") if e["job_id"] == "main"}
    assert (rows[1]["good"], rows[2]["graph/lr"]) == (1, 0.1)
    summary = server.of("batch_done")[0]["data"]["summary"]
    assert (summary["good"], summary["cycle"]["a"]) == (1, CIRCULAR)


def test_a_scalar_without_a_type_of_python_is_a_number() -> None:
    assert plain(numpy.longdouble("0.5")) == 0.5
    assert plain([numpy.longdouble("inf"), numpy.float16(0.5), numpy.datetime64("2026-01-31")]) == [
        "Infinity",
        0.5,
        "2026-01-31",
    ]


def test_a_list_that_was_changed_in_place_is_sent_again(server: FakeIngest, run: svc.Run) -> None:
    layers = [64]
    run.config["layers"] = layers
    layers.append(32)
    run.config["layers"] = layers
    run.config["layers"] = layers
    run.finish()
    assert [event["data"]["config"] for event in server.of("batch_start")[1:]] == [
        {"layers": [64]},
        {"layers": [64, 32]},
    ]


def test_secrets_in_a_list_of_dictionaries_are_masked_too(server: FakeIngest, make: Make) -> None:
    secret = {"stores": [{"bucket": "b", "api_key": "abc"}], "passwords": ["x", "y"]}
    with make(config=secret):
        pass
    stored = server.of("batch_start")[0]["data"]["config"]
    assert stored == {"stores": [{"bucket": "b", "api_key": "***"}], "passwords": ["x", "y"]}
