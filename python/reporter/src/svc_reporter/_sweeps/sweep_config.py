"""The definition of a sweep: the service's form, W&B's and Hydra's, from a dictionary or a YAML or JSON file."""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_METHODS = {"bayes": "tpe", "grid": "grid", "random": "random"}
_RANGE = ("min", "max", "distribution", "q")
_PLAIN = {"categorical", "constant"}
_SAME = ("uniform", "int_uniform", "q_uniform", "log_uniform_values", "q_log_uniform_values", "int_log_uniform")


def load(config: Any) -> Mapping[str, Any]:
    """The dictionary, or that of a YAML or JSON file. Raises ValueError."""
    if isinstance(config, (str, Path)):
        config = _of_file(Path(config))
    if not isinstance(config, Mapping):
        raise ValueError("the definition of a sweep must be a dictionary, or the path of a YAML or JSON file")
    return config


def read_definition(config: Any) -> dict[str, Any]:
    """The body of `POST …/sweeps`. Raises ValueError for what cannot be a definition; the service checks the rest."""
    config = load(config)
    config = _of_hydra(config) if isinstance(config.get("hydra"), Mapping) else dict(config)
    parameters = config.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        raise ValueError("the definition of a sweep needs parameters")
    method = str(config.get("method", "random")).lower()
    found: dict[str, Any] = {
        "name": str(config.get("name") or "Sweep"),
        "method": _METHODS.get(method, method),
        "metric": _metric(config.get("metric")),
        "parameters": flattened(parameters),
    }
    limit = config.get("max_trials", config.get("run_cap"))
    if limit is not None:
        found["max_trials"] = limit
    stopping = config.get("early_stopping", config.get("early_terminate"))
    if isinstance(stopping, Mapping):
        found["early_stopping"] = dict(stopping)
    command = config.get("command", config.get("program"))
    if command:
        found["command"] = command if isinstance(command, str) else " ".join(map(str, command))
    return found


def _of_file(path: Path) -> Any:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    try:
        if path.suffix == ".json":
            return json.loads(text)
        try:
            yaml = importlib.import_module("yaml")
        except ImportError:
            raise ValueError(f"{path}: reading YAML needs PyYAML: pip install pyyaml (or write JSON)") from None
        return _with_numbers(yaml.safe_load(text))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            raise ValueError(f"{path} is not valid YAML: {error}") from error
        raise


_EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")


def _with_numbers(value: Any) -> Any:
    """YAML 1.1 reads `1e-3`, without a point, as text."""
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _metric(given: Any) -> dict[str, str]:
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, Mapping) or not given.get("name"):
        raise ValueError('the definition of a sweep needs metric: {"name": …, "goal": "minimize" or "maximize"}')
    goal = str(given.get("goal", "minimize")).lower()
    return {"name": str(given["name"]), "goal": {"min": "minimize", "max": "maximize"}.get(goal, goal)}


def flattened(parameters: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The parameters by full name: `{"optimizer": {"parameters": {"lr": …}}}` is `optimizer.lr`.

    `when` of a group counts for all its parameters.
    """
    found: dict[str, Any] = {}
    for name, given in parameters.items():
        full = f"{prefix}{name}"
        if not isinstance(given, Mapping):
            found[full] = _parameter(full, given)
            continue
        inner = given.get("parameters")
        is_group = not {"value", "values", "min", "max", "distribution"} & set(given)
        if isinstance(inner, Mapping) or is_group:
            inside = inner if isinstance(inner, Mapping) else {key: given[key] for key in given if key != "when"}
            group = flattened(inside, f"{full}.")
        else:
            group = {full: _parameter(full, {key: given[key] for key in given if key != "when"})}
        when = _condition(full, given.get("when"))
        for one, parameter in group.items():
            conditions = {**when, **parameter.get("when", {})}
            found[one] = {**parameter, **({"when": conditions} if conditions else {})}
    return found


def _condition(name: str, given: Any) -> dict[str, Any]:
    """`{"optimizer": "sgd"}`: part of a trial only then. A list allows each of its values."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f'parameter {name}: when must be like {{"optimizer": "sgd"}}')
    return {str(on): list(value) if isinstance(value, (list, tuple)) else [value] for on, value in given.items()}


def _parameter(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, (list, tuple)):
        return {"values": list(given)}
    if isinstance(given, str) and (sweep := _of_text(given)) is not None:
        return sweep
    if not isinstance(given, Mapping):
        return {"value": given}
    distribution = given.get("distribution")
    if "values" in given:
        return {"values": list(given["values"])}
    if "value" in given:
        return {"value": given["value"]}
    if "min" not in given or "max" not in given:
        raise ValueError(
            f"parameter {name}: distribution {distribution!r} is not supported; give values, or min and max"
        )
    found = {key: given[key] for key in _RANGE if given.get(key) is not None}
    low, high = found["min"], found["max"]
    if distribution in ("log_uniform", "q_log_uniform") and low <= 0:
        # W&B's log_uniform takes exponents of e.
        quantised = {"q": found["q"]} if "q" in found else {}
        return {"min": math.exp(low), "max": math.exp(high), "distribution": "log_uniform_values", **quantised}
    if distribution == "log_uniform":
        found["distribution"] = "log_uniform_values"
    elif distribution is not None and distribution not in _SAME:
        raise ValueError(
            f"parameter {name}: distribution {distribution!r} is not supported; use one of {', '.join(_SAME)}"
        )
    return found


_CALL = re.compile(r"(?:(tag|choice|range|interval|int|shuffle)\s*\()(.*)\)\s*$", re.S)


def _of_text(text: str) -> dict[str, Any] | None:
    """Hydra's `choice(a,b)`, `range(1,5)`, `interval(0,1)`, `tag(log, interval(…))`, `int(interval(…))` and `a,b`."""
    call = _CALL.match(text.strip())
    if call is None:
        words = text.split(",")
        return {"values": [scalar(word) for word in words]} if len(words) > 1 else None
    kind, inside = call.group(1), call.group(2)
    if kind == "tag":
        tag, _, rest = inside.partition(",")
        found = _of_text(rest) or {}
        if tag.strip() != "log" or "min" not in found:
            return found or None
        is_int = found["distribution"] == "int_uniform"
        return {**found, "distribution": "int_log_uniform" if is_int else "log_uniform_values"}
    if kind == "int":
        found = _of_text(inside) or {}
        is_log = found.get("distribution") == "log_uniform_values"
        limits = {key: int(value) for key, value in found.items() if key in ("min", "max")}
        return {**limits, "distribution": "int_log_uniform" if is_log else "int_uniform"}
    values = [scalar(word) for word in inside.split(",")]
    if kind == "interval":
        return {"min": float(values[0]), "max": float(values[1]), "distribution": "uniform"}
    if kind == "range":
        numbers = [value for value in values if isinstance(value, (int, float))]
        start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]
        count = max(0, math.ceil((stop - start) / step))
        return {"values": [round(start + n * step, 12) for n in range(count)]}
    return {"values": values}


def scalar(word: str) -> Any:
    """A word of Hydra's language as a value."""
    text = word.strip().strip("'\"")
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "null": None}.get(text.lower(), text)


def _of_hydra(config: Mapping[str, Any]) -> dict[str, Any]:
    """`hydra.sweeper` of a Hydra configuration with a sweeper (basic, Optuna): its params, direction and n_trials."""
    hydra = config["hydra"]
    sweeper = hydra.get("sweeper") or {}
    own = {key: value for key, value in config.items() if key not in ("hydra", "defaults")}
    parameters = sweeper.get("params") or own.pop("parameters", None) or {}
    direction = sweeper.get("direction", "minimize")
    sampler = str((sweeper.get("sampler") or {}).get("_target_", ""))
    known = {
        "TPE": "tpe",
        "CmaEs": "cmaes",
        "GP": "gp",
        "QMC": "qmc",
        "NSGA": "nsga2",
        "Random": "random",
        "Grid": "grid",
    }
    method = next((name for word, name in known.items() if word in sampler), None)
    return {
        "name": sweeper.get("study_name") or own.get("name") or "Sweep",
        "method": method or own.get("method") or ("tpe" if sampler or "n_trials" in sweeper else "grid"),
        "metric": own.get("metric") or {"name": "objective", "goal": direction},
        "parameters": {str(name).lstrip("+"): value for name, value in parameters.items()},
        "max_trials": sweeper.get("n_trials") or own.get("max_trials"),
        "early_stopping": own.get("early_stopping"),
    }
