"""The generated validator says what schemas/event_v1.json says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from svc_reporter._delivery import validate

REPORTER = Path(__file__).resolve().parents[1]
SCHEMAS = REPORTER.parents[1] / "schemas"
SCHEMA = json.loads((SCHEMAS / "event_v1.json").read_text("utf-8"))


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_validator", REPORTER / "scripts" / "generate_validator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = _generator()


def _reference() -> Any:
    """jsonschema with the schema's patterns read as ECMAScript, which draft-07 means."""

    def pattern(_validator: Any, text: str, instance: Any, _schema: Any) -> Any:
        if isinstance(instance, str) and not GENERATOR.re.search(GENERATOR.translate(text), instance):
            yield jsonschema.ValidationError(f"does not match {text}")

    return jsonschema.validators.extend(jsonschema.Draft7Validator, {"pattern": pattern})(SCHEMA)


def _examples(kind: str) -> list[Path]:
    found = sorted(path for path in (SCHEMAS / "examples" / kind).glob("*.json") if path.name != "index.json")
    assert found
    return found


def test_the_committed_validator_is_the_output_of_the_generator() -> None:
    assert GENERATOR.generate(SCHEMA) == Path(validate.__file__).read_text("utf-8")


@pytest.mark.parametrize("path", _examples("valid"), ids=lambda path: path.stem)
def test_valid_examples_pass(path: Path) -> None:
    event = json.loads(path.read_text("utf-8"))
    assert validate.validate(event) == []
    assert _reference().is_valid(event)


@pytest.mark.parametrize("path", _examples("invalid"), ids=lambda path: path.stem)
def test_invalid_examples_are_refused(path: Path) -> None:
    event = json.loads(path.read_text("utf-8"))
    assert validate.validate(event)
    assert not _reference().is_valid(event)


@pytest.mark.parametrize("path", _examples("valid")[::5], ids=lambda path: path.stem)
def test_generated_and_interpreted_validator_agree_on_every_small_damage(path: Path) -> None:
    event = json.loads(path.read_text("utf-8"))
    reference = _reference()
    damages: list[Any] = [
        None,
        "",
        0,
        -1,
        1.5,
        True,
        [],
        {},
        "x" * 129,
        "NaN",
        2**31,
        2**53 - 1,
        2**53,
        -(2**53),
        "2026-01-01T00:00:00Z",
    ]

    def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        found = [path] if path else []
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            found += places(node[key], (*path, key))
        return found

    for place in places(event):
        for damage in (*damages, _DELETE):
            copy = json.loads(json.dumps(event))
            parent = copy
            for key in place[:-1]:
                parent = parent[key]
            if damage is _DELETE:
                del parent[place[-1]]
            else:
                parent[place[-1]] = damage
            assert bool(validate.validate(copy)) != reference.is_valid(copy), (place, damage)


_DELETE = object()


def test_a_keyword_unknown_to_the_generator_stops_it() -> None:
    schema = json.loads(json.dumps(SCHEMA))
    schema["anyOf"][0]["dependencies"] = {"a": ["b"]}
    with pytest.raises(SystemExit, match="dependencies"):
        GENERATOR.generate(schema)
