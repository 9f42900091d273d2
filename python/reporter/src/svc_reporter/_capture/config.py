"""`run.config`: the settings of a run. Changes during the run are sent to the service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from .._shared.plain import entries_of, plain_entries, text_of
from .._shared.redact import without_secrets

Send = Callable[[dict[str, Any]], None]


class Config(MutableMapping[str, Any]):
    """A dictionary whose keys are also attributes: `run.config.lr`, `run.config["lr"]`, `run.config.update(lr=1e-4)`.

    Values read back unchanged. They are sent as JSON data, with the values of secret names masked. A value that was
    changed in place is sent by the next `update` that names it.
    """

    def __init__(self, values: Mapping[str, Any], send: Send) -> None:
        object.__setattr__(self, "_values", dict(values))
        object.__setattr__(self, "_sent", plain_config(values))
        object.__setattr__(self, "_send", send)
        object.__setattr__(self, "_lock", threading.Lock())

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        raise TypeError("a key cannot be deleted from the configuration; set it to None")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_values")[name]
        except KeyError:
            raise AttributeError(f"config has no {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def setdefaults(self, values: Any) -> None:
        """Set the keys that are missing."""
        self.update({key: value for key, value in (entries_of(values) or {}).items() if key not in self._values})

    def as_dict(self) -> dict[str, Any]:
        return dict(self._values)

    def persist(self) -> None:
        """Every change is sent at once."""

    def __repr__(self) -> str:
        return f"Config({self._values!r})"

    def update(self, *values: Any, **more: Any) -> None:
        """Like dict.update; sends the changed keys to the service in one event.

        W&B's keyword `allow_val_change=True` or `False` is no key: a value may always change.
        """
        if isinstance(more.get("allow_val_change"), bool):
            del more["allow_val_change"]
        fresh: dict[str, Any] = {}
        for given in values:
            entries = entries_of(given)
            fresh.update({text_of(key): value for key, value in given} if entries is None else entries)
        fresh.update(more)
        made = plain_config(fresh)
        with self._lock:
            changed = {key: value for key, value in made.items() if key not in self._sent or self._sent[key] != value}
            self._values.update(fresh)
            self._sent.update(changed)
        if changed:
            self._send(changed)


def plain_config(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON data, with secrets masked."""
    return without_secrets(plain_entries(values))


def config_of(given: Any) -> dict[str, Any]:
    """The configuration as a dictionary: of a mapping, or the fields of a namespace, dataclass or other object.

    A value that cannot be read is its text. Raises TypeError for anything else.
    """
    if given is None:
        return {}
    found = entries_of(given)
    if isinstance(given, Mapping) and found is not None:
        return found
    if found is None:
        found = getattr(given, "__dict__", None)
    if not isinstance(found, dict) or isinstance(given, type):
        raise TypeError(f"config must be a dictionary or an object with attributes, got {type(given).__name__}")
    return {key: value for key, value in found.items() if not key.startswith("_")}
