"""Configurations of OmegaConf and attrs in every place that takes a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from omegaconf import OmegaConf

import svc_reporter as svc
from svc_reporter.integrations.hydra import job_params

Make = Callable[..., svc.Reporter]
WRITTEN = {
    "lr": 0.1,
    "double": "${lr}",
    "data": {"path": "???", "root": "${oc.env:NO_SUCH_VARIABLE}", "name": "digits"},
    "layers": [64, "${lr}", "${none.such}", "???"],
}
STORED = {
    "lr": 0.1,
    "double": 0.1,
    "data": {"path": "???", "root": "${oc.env:NO_SUCH_VARIABLE}", "name": "digits"},
    "layers": [64, 0.1, "${none.such}", "???"],
}


@attrs.define
class Settings:
    width: int
    owner: Any = None


def test_a_missing_or_unresolvable_value_of_omegaconf_is_its_text_and_costs_no_other(make: Make, stored: Any) -> None:
    make()
    quiet: dict[str, Any] = {"console": False, "environment": False, "quiet": True, "stop_poll_s": 0}
    with svc.init("frameworks", config=OmegaConf.create(WRITTEN), **quiet) as run:
        run.config.update(OmegaConf.create({"later": "???", "then": 1}))
        run.summary.update(OmegaConf.create({"best": "${none}", "value": 2}))
        run.log(OmegaConf.create({"loss": 0.5, "group": {"acc": 0.25, "gone": "???"}}), step=1)
        run.log({"loss": 0.25}, step=2)
    batch = stored(run.id)
    found = batch._service.call("GET", f"/api/batches/{run.id}")
    assert found["config"] == {**STORED, "later": "???", "then": 1}
    assert batch.jobs["main"]["params"] == {**STORED, "later": "???", "then": 1}
    assert batch.jobs["main"]["metrics"] == {"best": "${none}", "value": 2}
    assert batch.curve("main", "loss") == [(1, 0.5), (2, 0.25)]
    assert batch.curve("main", "group/acc") == [(1, 0.25)]


def test_parameters_of_hydra_keep_the_other_values_of_a_group_with_a_missing_one() -> None:
    params = job_params(OmegaConf.create(WRITTEN))
    assert params == {
        "lr": 0.1,
        "double": 0.1,
        "data.root": "${oc.env:NO_SUCH_VARIABLE}",
        "data.name": "digits",
        "layers": STORED["layers"],
    }


def test_an_attrs_object_that_knows_its_owner_is_its_fields(make: Make, stored: Any) -> None:
    settings = Settings(3)
    settings.owner = settings
    with make() as run, run.job("a", settings=settings):
        pass
    assert stored(run.batch_id).jobs["a"]["params"]["settings"] == {"width": 3, "owner": "<circular>"}
