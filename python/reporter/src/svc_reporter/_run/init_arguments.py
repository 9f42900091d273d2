"""The arguments of `init`: those that it knows, those of W&B, and the variables that stand in for missing ones."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._capture.environment import PARTS
from .._shared.plain import entries_of, text_of
from .._shared.unsupported import instead_of, say, say_unsupported

DEFAULT_PROJECT = "uncategorized"
OF_REPORTER = frozenset(
    ("batch_id", "url", "token", "stop_poll_s", "heartbeat_s", "resources_s", "queue_size", "close_timeout_s", "stop")
)
_VARIABLES = {
    "name": "WANDB_NAME",
    "group": "WANDB_RUN_GROUP",
    "notes": "WANDB_NOTES",
    "id": "WANDB_RUN_ID",
    "resume": "WANDB_RESUME",
    "job_type": "WANDB_JOB_TYPE",
    "dir": "WANDB_DIR",
    "mode": "WANDB_MODE",
}
_OF_SETTINGS = {
    "project": "project",
    "run_name": "name",
    "run_group": "group",
    "run_notes": "notes",
    "run_tags": "tags",
    "run_id": "id",
    "run_job_type": "job_type",
    "resume": "resume",
    "mode": "mode",
    "reinit": "reinit",
    "root_dir": "dir",
}
"""Fields of `Settings` that are arguments of `init`, too."""
_HAVE_MEANING = frozenset(
    (*_OF_SETTINGS, "console", "silent", "quiet", "disable_git", "disable_code", "save_code", "x_disable_stats")
)
_MODES = {"": "online", "online": "online", "shared": "online", "run": "online", "offline": "offline"}
_MODES |= {"dryrun": "offline", "disabled": "disabled"}
_TRUE = ("1", "true", "yes", "on")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Settings:
    """W&B's settings: any keyword. `init` uses those that have a counterpart, and one line names the others."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def update(self, values: Any = None, **more: Any) -> None:
        self.__dict__.update(getattr(values, "__dict__", values) or {}, **more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __repr__(self) -> str:
        return f"Settings({self.__dict__!r})"


def completed(given: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of `init` with a value: as given, else of `settings`, else of a variable.

    `more` are the keywords that its signature does not name: arguments of `Reporter`, of W&B, and unknown ones.
    """
    found = {key: value for key, value in given.items() if value is not None and key != "settings"}
    found |= {key: value for key, value in more.items() if key in OF_REPORTER}
    _take_settings(found, given.get("settings"))
    _leave_out_parts(found, given.get("settings"), more)
    _take_variables(found)
    if isinstance(found.get("tags"), str):
        found["tags"] = [found["tags"]]
    _take_config(found, more)
    _note_others(more)
    found["mode"] = _mode(found.get("mode"))
    found.setdefault("experiment_type", _experiment_type(found.get("job_type")))
    is_given = given.get("project") is not None
    found["project"] = project_name(found.get("project"), "the run is reported in", is_given=is_given)
    return found


def _take_settings(found: dict[str, Any], settings: Any) -> None:
    entries = _entries(settings)
    for name, key in _OF_SETTINGS.items():
        if entries.get(name) is not None:
            found.setdefault(key, entries[name])
    if entries.get("console") == "off":
        found.setdefault("console", False)
    if entries.get("silent") or entries.get("quiet"):
        found.setdefault("quiet", True)
    if entries.get("x_disable_stats") or entries.get("_disable_stats"):
        found.setdefault("resources_s", 0)
    other = [name for name, value in entries.items() if value is not None and name.lstrip("_") not in _HAVE_MEANING]
    if other:
        say_unsupported(f"settings: {', '.join(sorted(map(text_of, other)))}", "these have no effect here")


def _leave_out_parts(found: dict[str, Any], settings: Any, more: Mapping[str, Any]) -> None:
    """W&B's ways to keep code out of a run leave out parts of the environment, unless `environment` is given."""
    entries = _entries(settings)

    def is_set(name: str) -> bool:
        return bool(entries.get(name)) or os.environ.get(f"WANDB_{name.upper()}", "").strip().lower() in _TRUE

    left_out = {"git", "diff"} if is_set("disable_git") else set()
    if is_set("disable_code") or False in (more.get("save_code"), entries.get("save_code")):
        left_out |= {"diff", "entry"}
    if left_out:
        found.setdefault("environment", [part for part in PARTS if part not in left_out])


def _entries(settings: Any) -> dict[str, Any]:
    entries = entries_of(settings) if settings is not None else None
    return dict(getattr(settings, "__dict__", {})) if entries is None else dict(entries)


def project_of_environment() -> str | None:
    """The project of runs and sweeps that name none."""
    given = (os.environ.get(name, "").strip() for name in ("SVC_PROJECT", "WANDB_PROJECT"))
    return next((name for name in given if name), None)


def _take_variables(found: dict[str, Any]) -> None:
    env = os.environ
    project = project_of_environment()
    if project is not None:
        found.setdefault("project", project)
    for key, variable in _VARIABLES.items():
        value = env.get(variable, "").strip()
        # In a process that joins a run the name is that of its job, so the name of the run does not fit.
        if value and not (key in ("name", "id") and env.get("SVC_BATCH_ID")):
            found.setdefault(key, value)
    tags = [tag.strip() for tag in env.get("WANDB_TAGS", "").split(",") if tag.strip()]
    if tags:
        found.setdefault("tags", tags)
    if env.get("WANDB_DISABLED", "").strip().lower() in _TRUE:
        found.setdefault("mode", "disabled")
    if any(env.get(name, "").strip().lower() in _TRUE for name in ("WANDB_SILENT", "WANDB_QUIET")):
        found.setdefault("quiet", True)
    if env.get("WANDB_CONSOLE", "").strip().lower() == "off":
        found.setdefault("console", False)


def _take_config(found: dict[str, Any], more: Mapping[str, Any]) -> None:
    """`config` may be the path of a YAML or JSON file; W&B's keywords leave out or select keys of it."""
    config = found.get("config")
    if isinstance(config, (str, os.PathLike)):
        found["config"] = config = _config_of_file(Path(config))
    left_out, selected = more.get("config_exclude_keys"), more.get("config_include_keys")
    entries = entries_of(config)
    if entries is not None and (left_out or selected):
        kept = {key: value for key, value in entries.items() if key not in (left_out or ())}
        found["config"] = {key: value for key, value in kept.items() if not selected or key in selected}


def _config_of_file(path: Path) -> dict[str, Any]:
    """The keys of a file as W&B reads it: a value may be `{"value": ..., "desc": ...}`."""
    import importlib
    import json

    try:
        text = path.read_text("utf-8")
        made = json.loads(text) if path.suffix == ".json" else importlib.import_module("yaml").safe_load(text)
        if isinstance(made, dict):
            return {
                str(key): item["value"] if isinstance(item, dict) and "value" in item else item
                for key, item in made.items()
                if key != "wandb_version"
            }
    except Exception as error:
        say(f"the configuration file {path} was not read: {type(error).__name__}: {error}")
    return {}


def config_defaults() -> dict[str, Any]:
    """The files that W&B reads without being told: `config-defaults.yaml`, and those of WANDB_CONFIG_PATHS."""
    found: dict[str, Any] = {}
    named = [Path(name) for name in os.environ.get("WANDB_CONFIG_PATHS", "").split(",") if name.strip()]
    for path in (Path("config-defaults.yaml"), *named):
        if path.is_file():
            found |= _config_of_file(path)
    return found


def _note_others(more: Mapping[str, Any]) -> None:
    """One line for the keywords that have no effect here."""
    known = (*OF_REPORTER, "config_exclude_keys", "config_include_keys", "allow_val_change", "force", "anonymous")
    other = {key: value for key, value in more.items() if key not in known and value not in (None, False)}
    words = [f"{key}= ({instead_of('init', key) or 'unknown, it has no effect'})" for key in other]
    if words:
        say_unsupported(f"init: {', '.join(words)}", "the run starts without")


def _mode(given: Any) -> str:
    mode = text_of(given).strip().lower() if given is not None else "online"
    if mode not in _MODES:
        say_unsupported(f"mode={mode!r}", "the run reports to the service; the modes are online, offline and disabled")
    return _MODES.get(mode, "online")


def _experiment_type(job_type: Any) -> str:
    """W&B's type of a job is the type of the experiment."""
    clean = re.sub(r"[^\w.-]+", "-", text_of(job_type)).strip("-")[:64] if job_type is not None else ""
    return clean or "train"


def project_name(given: Any, instead: str, *, is_given: bool) -> Any:
    """The name of the project of a run or sweep: as given, or the nearest name that the service allows.

    `instead` begins the line about a changed name. With `is_given` the name is an argument, not of a variable or file.
    """
    if given is None:
        return DEFAULT_PROJECT
    if not isinstance(given, str) or _NAME.fullmatch(given) or (is_given and (not given.strip() or "/" in given)):
        return given  # `arguments.project` refuses what can never work
    import unicodedata

    plain = "".join(c for c in unicodedata.normalize("NFKD", given) if not unicodedata.combining(c))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-")[:128]
    if not name:
        return given
    say_unsupported(f"the project name {given!r}", f"{instead} the project {name!r}")
    return name


def is_called_wandb() -> bool:
    """Whether the script that calls `init` knows this package as `wandb`, by its import or by `run-as-wandb`."""
    package = sys.modules["svc_reporter"]
    if sys.modules.get("wandb") is package:
        return True
    try:
        frame = sys._getframe(2)  # that of the call of `init`
    except (AttributeError, ValueError):
        return False
    return frame.f_globals.get("wandb") is package or frame.f_locals.get("wandb") is package


def is_interactive() -> bool:
    """Whether IPython runs the script, as in a notebook: there a second `init` ends the open run, as with W&B."""
    try:
        return sys.modules["IPython"].get_ipython() is not None
    except Exception:
        return False
