"""What git says of the working directory: commit, branch, remote and diff. Never raises: without git there is none."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._shared.redact import masked_text, redact_text

DIFF_LIMIT = 1024 * 1024
"""Bytes of a git diff; a longer one is cut, with a note."""
_DIFF_PART = 60 * 1024
"""Characters of one log line of the diff: an event has at most 256 KiB, a character at most 4 bytes."""
_TIMEOUT_S = 2.0
_DIFF_TIMEOUT_S = 5.0


def git_state(cwd: str) -> dict[str, Any]:
    """`{"commit": short SHA, "dirty": bool, "branch": name}`, as far as git responds within two seconds."""
    top = _line(cwd, "rev-parse", "--short", "HEAD")
    if top is None:
        return {}
    state: dict[str, Any] = {"commit": top}
    changes = _line(cwd, "status", "--porcelain", "--untracked-files=no")
    if changes is not None:
        state["dirty"] = bool(changes)
    branch = _line(cwd, "rev-parse", "--abbrev-ref", "HEAD")
    if branch is not None and branch != "HEAD":
        state["branch"] = branch
    return state


def git_remote(cwd: str) -> dict[str, Any]:
    """`{"git_remote": address}`, without its credentials."""
    remote = _line(cwd, "config", "--get", "remote.origin.url")
    return {"git_remote": redact_text(remote)} if remote else {}


class GitDiff(NamedTuple):
    text: str
    """Without secrets, and cut at DIFF_LIMIT."""
    length: int
    """Of all of it, in bytes."""

    @property
    def is_cut(self) -> bool:
        return self.length > DIFF_LIMIT


def git_diff(cwd: str, env: Mapping[str, str]) -> GitDiff | None:
    """`git diff HEAD`; None without changes."""
    raw = _git(cwd, "diff", "HEAD", "--no-color", "--no-ext-diff", timeout_s=_DIFF_TIMEOUT_S)
    if not raw or not raw.strip():
        return None
    return GitDiff(masked_text(raw[:DIFF_LIMIT].decode("utf-8", "replace"), env), len(raw))


def diff_lines(diff: GitDiff) -> list[str]:
    """A diff in log lines of at most 60 KiB.

    The first line has its length, the number of parts, and whether it was cut at DIFF_LIMIT.
    """
    text = diff.text
    parts = [text[at : at + _DIFF_PART] for at in range(0, len(text), _DIFF_PART)]
    said = f"git diff against HEAD: {diff.length:,} bytes in {len(parts)} parts"
    if diff.is_cut:
        said += f", of which the first {DIFF_LIMIT:,} bytes are kept"
    return [said, *(f"git diff, part {n} of {len(parts)}\n{part}" for n, part in enumerate(parts, 1))]


def _line(cwd: str, *arguments: str) -> str | None:
    answer = _git(cwd, *arguments)
    return None if answer is None else answer.decode("utf-8", "replace").strip()


def _git(cwd: str, *arguments: str, timeout_s: float | None = None) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s or _TIMEOUT_S,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout if done.returncode == 0 else None
