"""The calls of the module itself: `svc.log`, `svc.finish`, … work on the run that `init` started last.

`import svc_reporter as wandb` lets a script for W&B run unchanged. Names that need a run raise `errors.Error` before
`init`, as W&B does: the script would not have worked there, either.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from .._run.init_arguments import Settings as Settings  # pickles of releases up to 0.2.0 name it here
from .._run.run import Run, current_run
from .._shared.unsupported import say
from ..errors import Error

_terminal_repeats: set[str] = set()


def current() -> Run:
    """The run of this process. Raises Error if there is none."""
    run = current_run()
    if run is None:
        raise Error("call svc_reporter.init() first: there is no run")
    return run


def log(data: Mapping[str, Any], step: Any = None, commit: bool | None = None, **more: Any) -> None:
    """`Run.log` of the current run, with W&B's meaning of a step.

    A call without a step has the step of the last call, if that named one or had `commit=False`; else the next one.
    """
    run = current_run()
    if run is None:
        run = current()
    if step is None:
        step = run._axes.named_step
        if step is not None and commit is None:
            commit = True
    run.log(data, step, commit, **more)


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """End the current run, if there is one; as failed with a status other than 0."""
    run = current_run()
    if run is not None:
        run.finish(exit_code, quiet)


def define_metric(name: str, step_metric: Any = None, *arguments: Any, **more: Any) -> Any:
    """`Run.define_metric` of the current run."""
    known = dict(zip(("step_sync", "hidden", "summary", "goal", "overwrite"), arguments, strict=False))
    return current().define_metric(name, step_metric, **{**known, **more})


def alert(title: str, text: str = "", level: Any = "warning", wait_duration: Any = None, **more: Any) -> None:
    """`Run.alert` of the current run."""
    current().alert(title, text, level, wait_duration, **more)


def mark_preempting() -> None:
    """`Run.mark_preempting` of the current run."""
    current().mark_preempting()


def save(glob_str: Any = None, base_path: Any = None, policy: str = "end", **more: Any) -> list[str]:
    """`Run.save` of the current run."""
    return current().save(glob_str, base_path, policy, **more)


def log_artifact(artifact_or_path: Any, *args: Any, **more: Any) -> Any:
    """`Run.log_artifact` of the current run."""
    return current().log_artifact(artifact_or_path, *args, **more)


def use_artifact(artifact_or_name: Any, *args: Any, **more: Any) -> Any:
    """`Run.use_artifact` of the current run."""
    return current().use_artifact(artifact_or_name, *args, **more)


def log_model(*args: Any, **more: Any) -> None:
    """`Run.log_model` of the current run."""
    current().log_model(*args, **more)


def use_model(name: str) -> str:
    """`Run.use_model` of the current run."""
    return current().use_model(name)


def log_code(*args: Any, **more: Any) -> Any:
    """`Run.log_code` of the current run."""
    return current().log_code(*args, **more)


def restore(name: str, *args: Any, **more: Any) -> Any:
    """`Run.restore` of the current run."""
    return current().restore(name, *args, **more)


def watch(models: Any, *args: Any, **more: Any) -> None:
    """`Run.watch` of the current run."""
    current().watch(models, *args, **more)


def unwatch(models: Any = None) -> None:
    """`Run.unwatch` of the current run."""
    current().unwatch(models)


def plot_table(
    vega_spec_name: str | None = None, data_table: Any = None, fields: Any = None, *_args: Any, **_more: Any
) -> Any:
    """W&B's charts of its own kind: the table is recorded, which the page shows."""
    return data_table


def login(*_args: Any, **_more: Any) -> bool:
    """W&B asks for a key here. This package reads SVC_URL and SVC_TOKEN; `svc-reporter doctor` checks them."""
    return True


def setup(*_args: Any, **_more: Any) -> None:
    """Nothing is to be set up before `init`."""


def teardown(exit_code: int | None = None) -> None:
    """End the current run."""
    finish(exit_code)


def require(*_args: Any, **_more: Any) -> None:
    """W&B switches features on with it."""


def ensure_configured() -> None:
    """W&B reads its configuration files here."""


def termsetup(*_args: Any, **_more: Any) -> None:
    """W&B takes settings of its messages here."""


def termlog(string: str = "", newline: bool = True, repeat: bool = True, prefix: bool = True) -> None:
    """Print a message on stderr; with `repeat=False` only once."""
    _print(string, newline, repeat, "svc: " if prefix else "")


def termwarn(string: str, newline: bool = True, repeat: bool = True) -> None:
    """Print a warning on stderr."""
    _print(string, newline, repeat, "svc: WARNING ")


def termerror(string: str, newline: bool = True, repeat: bool = True) -> None:
    """Print an error on stderr."""
    _print(string, newline, repeat, "svc: ERROR ")


def _print(string: object, newline: bool, repeat: bool, mark: str) -> None:
    text = str(string)
    if not repeat and text in _terminal_repeats:
        return
    if len(_terminal_repeats) < 1_000:
        _terminal_repeats.add(text)
    for line in text.split("\n"):
        say(line, mark)


class AlertLevel(enum.Enum):
    """Levels of alerts under W&B's names."""

    INFO = "info"
    WARN = "warning"
    ERROR = "error"


class BeforeInit:
    """`svc.config` and `svc.summary` before `init`: reading and writing raises `errors.Error`, as with W&B."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, what: str) -> NoReturn:
        raise Error(f"call svc_reporter.init() before svc_reporter.{self._name}{what}")

    def __getitem__(self, key: str) -> Any:
        self._refuse(f"[{key!r}]")

    def __setitem__(self, key: str, value: Any) -> None:
        self._refuse(f"[{key!r}]")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(f".{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(f".{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def config() -> Any:
    """The configuration of the current run."""
    run = current_run()
    return BeforeInit("config") if run is None else run.config


def summary() -> Any:
    """The summary of the current run."""
    run = current_run()
    return BeforeInit("summary") if run is None else run.summary
