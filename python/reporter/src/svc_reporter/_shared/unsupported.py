"""What a script asks for and this package does not have: one line on stderr, and an object that does nothing.

A script written for W&B must not fail because of a call that has no counterpart here. The lines name the call and say
what happens instead; `from_wandb.json` has the words.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("from_wandb.json")
_MAX_SAID = 1_000
_said: set[str] = set()


@lru_cache(maxsize=1)
def table() -> dict[str, list[dict[str, str]]]:
    """The names of W&B and their counterparts, by section; docs/from-wandb.md is generated from it."""
    found: dict[str, list[dict[str, str]]] = json.loads(_TABLE.read_text("utf-8"))
    return found


def instead_of(section: str, name: str) -> str:
    """What happens instead of a name of W&B that has no counterpart; empty if the table does not know it."""
    try:
        return next((row.get("instead", "") for row in table().get(section, ()) if row["wandb"] == name), "")
    except Exception:
        return ""  # an incomplete installation


def say_unsupported(what: str, instead: str = "") -> None:
    """Print one line for each `what`, unless the user asked for silence."""
    if what in _said or len(_said) >= _MAX_SAID:
        return
    _said.add(what)
    say(f"{what} is not supported: {instead or 'the call does nothing'}")


def say(text: str, mark: str = "svc: ") -> None:
    """Print a line on stderr, unless WANDB_SILENT is set."""
    if is_silent():
        return
    try:
        sys.stderr.write(f"{mark}{text}\n")
        sys.stderr.flush()
    except Exception:
        return  # the terminal was closed


def is_silent() -> bool:
    return os.environ.get("WANDB_SILENT", "").strip().lower() in ("1", "true", "yes", "on")


class Nothing:
    """Takes every call, attribute and index, and does nothing. It is false and empty."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __call__(self, *_args: Any, **_more: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        return

    def __getitem__(self, _key: Any) -> Any:
        return self

    def __setitem__(self, _key: Any, _value: Any) -> None:
        return

    def __contains__(self, _key: Any) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: Any) -> None:
        return

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"<{self._name}: not supported>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Nothing, (self._name,)


def nothing(what: str, section: str, name: str) -> Nothing:
    """The stand-in of a name without a counterpart, after a line that says so."""
    say_unsupported(what, instead_of(section, name))
    return Nothing(what)
