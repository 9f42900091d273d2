"""Keeps configuration, script, requirements and git diff of a run as files of the run, in a thread of its own."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Any

from .._capture import described
from .._capture.config import plain_config
from .._capture.distributions import requirements
from .._capture.git import GitDiff, diff_lines, git_diff
from .._shared.process import working_folder
from .reporter import Reporter

_DIFF_TIMEOUT_S = 2.0
"""How long `finish` waits for the git diff."""
_FIRST_MOMENTS_S = 3.0
"""So long a run has its processor for itself before these files are written."""


class Description:
    """Of a run that `init` starts; `parts` are those of its environment. A run that was joined has its own files."""

    longest_s = _DIFF_TIMEOUT_S
    """How long `finish` takes at most."""

    def __init__(self, reporter: Reporter, parts: frozenset[str], config: Mapping[str, Any]) -> None:
        self._reporter = reporter
        self._parts = parts
        self._config = config
        self._kept_config: bytes | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="svc-reporter-own-files", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Wait for what is missing, and keep the configuration again if it changed."""
        if self._reporter.is_of_this_process():
            self._ending.set()
            self._thread.join(_DIFF_TIMEOUT_S)
            self._keep_config()

    def _keep(self) -> None:
        try:
            script = described.script(os.environ) if "entry" in self._parts else None
            diff = git_diff(working_folder(), os.environ) if "diff" in self._parts else None
            if self._reporter.has_joined:
                self._send_diff(diff)
                return
            self._ending.wait(_FIRST_MOMENTS_S)
            files = self._reporter.files
            files.when_unsupported = lambda: self._send_diff(diff)
            self._keep_config()
            if script is not None:
                files.add_bytes(script[1], script[0], "text/x-python", own=True)
            if "libraries" in self._parts:
                files.add_bytes(requirements(), described.REQUIREMENTS, "text/plain", own=True)
            if diff is None:
                return
            if not files.add_bytes(described.diff_content(diff), described.DIFF, "text/x-diff", own=True):
                self._send_diff(diff)
        except Exception as error:
            self._warn("own files", f"some of configuration, script, requirements and diff is not kept: {error!r}")

    def _keep_config(self) -> None:
        if self._reporter.has_joined:
            return
        try:
            content = described.config_content(plain_config(self._config))
            if content is not None and content != self._kept_config:
                self._kept_config = content
                self._reporter.files.add_bytes(content, described.CONFIG, "application/json", own=True)
        except Exception as error:
            self._warn("own files", f"the configuration is not kept as a file: {error!r}")

    def _send_diff(self, diff: GitDiff | None) -> None:
        """As log lines, where files cannot be kept."""
        try:
            for line in diff_lines(diff) if diff is not None else ():
                self._reporter.emit_log(None, line, "debug", source="git_diff")
        except Exception as error:
            self._warn("diff", f"the git diff was not recorded: {error!r}")

    def _warn(self, topic: str, message: str) -> None:
        self._reporter.messages.log_once(logging.WARNING, f"run {topic}", message)
