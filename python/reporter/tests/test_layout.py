"""Where the modules of the package are."""

from __future__ import annotations

import pickle

import pytest

from svc_reporter._capture import media
from svc_reporter._delivery import delivery
from svc_reporter._process import ranks
from svc_reporter._run import artifact, copies, job, run
from svc_reporter._shared import errors, unsupported
from svc_reporter._wandb import calls

MOVED = {
    "_artifact Artifact": artifact.Artifact,
    "_calls Settings": calls.Settings,
    "_copies restore": copies.restore,
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
