"""`run.watch(model)`: histograms of gradients and parameters of a torch model, added to the next call of `log`."""

from __future__ import annotations

import threading
from typing import Any

from .media import Histogram

_MAX_PARAMETERS = 500


class Watching:
    """Hooks on the parameters. A gradient is copied every `log_freq` backward passes; `take` returns the histograms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, Histogram] = {}
        self._handles: list[Any] = []
        self._models = 0

    def add(self, models: Any, log: str, log_freq: int) -> None:
        """Raises AttributeError for what is not a torch model."""
        for model in models if isinstance(models, (list, tuple)) else [models]:
            prefix = f"graph_{self._models}" if self._models else ""
            self._models += 1
            for name, parameter in list(model.named_parameters())[:_MAX_PARAMETERS]:
                if parameter.requires_grad and log in ("gradients", "parameters", "all"):
                    hook = self._hook(f"{prefix}{name}", parameter, log, log_freq)
                    self._handles.append(parameter.register_hook(hook))

    def _hook(self, name: str, parameter: Any, log: str, log_freq: int) -> Any:
        passes = 0

        def note(gradient: Any) -> None:
            nonlocal passes
            passes += 1
            if passes % log_freq:
                return
            try:
                found = {}
                if log in ("gradients", "all"):
                    found[f"gradients/{name}"] = Histogram(gradient.detach().clone())
                if log in ("parameters", "all"):
                    found[f"parameters/{name}"] = Histogram(parameter.detach().clone())
                with self._lock:
                    self._found.update(found)
            except Exception:
                return  # a hook must not break the backward pass

        return note

    def take(self) -> dict[str, Histogram]:
        """The histograms since the last call."""
        if not self._found:
            return {}
        with self._lock:
            found, self._found = self._found, {}
        return found

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
