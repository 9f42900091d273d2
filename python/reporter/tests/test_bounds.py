"""What a process keeps of names and topics is bounded."""

from __future__ import annotations

import logging

import pytest

from svc_reporter._capture import axes as _axes
from svc_reporter._capture.axes import Axes
from svc_reporter._shared import messages as _messages
from svc_reporter._shared.messages import Messages


def test_metrics_whose_names_are_all_different_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_axes, "_MAX_NAMES", 50)
    axes = Axes(lambda topic, message: None)
    for step in range(200):
        rows = axes._rows({f"loss_{step}": 0.5, "loss": 0.25}, step)
        assert rows == {step: {f"loss_{step}": 0.5, "loss": 0.25}}
    assert len(axes._last_of) <= 50
    assert axes._last_of["loss"] == 0.25


def test_topics_of_messages_are_forgotten_oldest_first(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_messages, "_MAX_NAMES", 50)
    messages = Messages()
    with caplog.at_level(logging.WARNING, "svc_reporter"):
        for job in range(200):
            messages.log(logging.WARNING, f"ended {job}", f"job {job}")
            messages.log(logging.WARNING, f"ended {job}", f"job {job}, again")
    assert len(messages._logged) <= 50
    assert [record.getMessage() for record in caplog.records] == [f"job {job}" for job in range(200)]
