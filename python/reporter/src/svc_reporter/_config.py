"""`run.config`: the settings of a run. Changes during the run are sent to the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from ._environment import without_secrets
from ._plain import named_fields, plain

Send = Callable[[dict[str, Any]], None]


class Config(MutableMapping[str, Any]):
    """A dictionary whose keys are also attributes: `run.config.lr`, `run.config["lr"]`, `run.config.update(lr=1e-4)`.

    Values read back unchanged. They are sent as JSON data, with the values of secret names masked.
    """

    def __init__(self, values: Mapping[str, Any], send: Send) -> None:
        object.__setattr__(self, "_values", dict(values))
        object.__setattr__(self, "_send", send)

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

    def __repr__(self) -> str:
        return f"Config({self._values!r})"

    def update(self, *values: Any, **more: Any) -> None:
        """Like dict.update; sends the changed keys to the service in one event."""
        fresh = dict(*values, **more)
        changed = {
            str(key): value for key, value in fresh.items() if key not in self._values or self._differs(key, value)
        }
        self._values.update({str(key): value for key, value in fresh.items()})
        if changed:
            self._send(plain_config(changed))

    def _differs(self, key: str, value: Any) -> bool:
        try:
            return key not in self._values or bool(self._values[key] != value)
        except Exception:  # comparing arrays gives no single bool
            return True


def plain_config(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON data, with secrets masked."""
    return without_secrets({str(key): plain(value) for key, value in values.items()})


def config_of(given: Any) -> dict[str, Any]:
    """The configuration as a dictionary: of a mapping, or the fields of a namespace, dataclass or other object.

    Raises TypeError for anything else.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(key): value for key, value in given.items()}
    fields = named_fields(given)
    if fields is None:
        fields = getattr(given, "__dict__", None)
    if not isinstance(fields, dict) or isinstance(given, type):
        raise TypeError(f"config must be a dictionary or an object with attributes, got {type(given).__name__}")
    return {key: value for key, value in fields.items() if not key.startswith("_")}
