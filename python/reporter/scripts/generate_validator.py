"""Writes src/svc_reporter/_delivery/validate.py from schemas/event_v1.json.

    python scripts/generate_validator.py [--check]

A validator written out as plain Python costs a few microseconds an event where a schema interpreter costs
hundreds, and needs no dependency. `--check` writes nothing and exits 1 when the committed file is stale.
An unknown keyword stops the generator: a rule of the schema is never silently left out.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "schemas" / "event_v1.json"
TARGET = Path(__file__).resolve().parents[1] / "src" / "svc_reporter" / "_delivery" / "validate.py"

Schema = dict[str, Any]
ANNOTATIONS = {"$schema", "$id", "$comment", "title", "description", "default", "examples", "definitions"}
STRUCTURE = {"properties", "items"}
KNOWN = (
    ANNOTATIONS
    | STRUCTURE
    | {
        "type",
        "const",
        "enum",
        "required",
        "additionalProperties",
        "pattern",
        "format",
        "minLength",
        "maxLength",
    }
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
    | {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"}
)
TYPES = {
    "object": "isinstance({v}, dict)",
    "array": "isinstance({v}, list)",
    "string": "isinstance({v}, str)",
    "boolean": "isinstance({v}, bool)",
    "null": "{v} is None",
    "number": "_number({v})",
    "integer": "_integer({v})",
}
# ECMAScript's \s, spelled out: Python's differs at U+001C..U+001F, U+0085 and U+FEFF.
JS_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


class Writer:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.patterns: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.bodies: list[str] = []

    def deref(self, schema: Any) -> Schema:
        if schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        unknown = set(schema) - KNOWN
        if unknown:
            raise SystemExit(f"{SCHEMA.name} uses keywords that this generator does not know: {sorted(unknown)}")
        reference = schema.get("$ref")
        if reference is None:
            return dict(schema)
        found: Any = self.root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return self.deref(found)

    def pattern(self, text: str) -> str:
        return self.patterns.setdefault(text, f"_P{len(self.patterns)}")

    def is_leaf(self, schema: Any) -> bool:
        """Whether one boolean expression says all there is to say."""
        schema = self.deref(schema)
        if schema.get("properties") or "items" in schema or schema.get("additionalProperties", {}) not in ({}, True):
            return False
        parts = [s for key in ("anyOf", "oneOf", "allOf") for s in schema.get(key, [])]
        parts += [schema[key] for key in ("not", "if", "then", "else") if key in schema]
        return all(self.is_leaf(part) for part in parts)

    def expression(self, schema: Any, v: str) -> str:
        """A Python expression that is true when `v` fits a leaf schema."""
        schema = self.deref(schema)
        tests: list[str] = []
        kinds = schema.get("type")
        known = [kinds] if isinstance(kinds, str) else list(kinds or [])
        if known and not ("const" in schema or "enum" in schema):
            tests.append(" or ".join(TYPES[k].format(v=v) for k in known))
        if "const" in schema:
            tests.append(self._equal(schema["const"], v))
        if "enum" in schema:
            tests.append(" or ".join(self._equal(value, v) for value in schema["enum"]))
        tests += self._guarded(schema, v, known)
        if "required" in schema:
            names = " and ".join(f"{name!r} in {v}" for name in schema["required"])
            tests.append(names if known == ["object"] else f"not isinstance({v}, dict) or ({names})")
        for key, joint in (("anyOf", " or "), ("allOf", " and ")):
            if key in schema:
                tests.append(joint.join(f"({self.expression(s, v)})" for s in schema[key]))
        if "oneOf" in schema:
            tests.append(" + ".join(f"bool({self.expression(s, v)})" for s in schema["oneOf"]) + " == 1")
        if "not" in schema:
            tests.append(f"not ({self.expression(schema['not'], v)})")
        if "if" in schema:
            then, other = (self.expression(schema.get(k, {}), v) for k in ("then", "else"))
            tests.append(f"({then}) if ({self.expression(schema['if'], v)}) else ({other})")
        if not tests:
            return "True"
        return " and ".join(f"({t})" if " or " in t or " if " in t else t for t in tests)

    def _equal(self, value: Any, v: str) -> str:
        if value is None or isinstance(value, bool):
            return f"{v} is {value!r}"
        if isinstance(value, (int, float)):
            return f"_number({v}) and {v} == {value!r}"
        return f"{v} == {value!r}"

    def _guarded(self, schema: Schema, v: str, known: list[str]) -> list[str]:
        """Keywords that speak of one type only; others pass, unless `type` has already turned them away."""
        out: list[str] = []

        def add(kinds: set[str], test: str, guard: str) -> None:
            out.append(test if known and set(known) <= kinds else f"not {guard} or {test}")

        for key in ("pattern", "format"):
            if key in schema:
                text = schema[key]
                if key == "format":
                    if text != "uuid":
                        raise SystemExit(f"format {text!r} is not known to this generator")
                    text = UUID
                    if schema.get("pattern") == UUID:
                        continue
                add({"string"}, f"{self.pattern(text)}({v})", f"isinstance({v}, str)")
        for key, sign in (("minLength", ">="), ("maxLength", "<=")):
            if key in schema:
                add({"string"}, f"len({v}) {sign} {schema[key]}", f"isinstance({v}, str)")
        for key, sign in (("minItems", ">="), ("maxItems", "<=")):
            if key in schema:
                add({"array"}, f"len({v}) {sign} {schema[key]}", f"isinstance({v}, list)")
        limits = (("minimum", ">="), ("maximum", "<="), ("exclusiveMinimum", ">"), ("exclusiveMaximum", "<"))
        for key, sign in limits:
            if key in schema:
                add({"integer", "number"}, f"{v} {sign} {schema[key]!r}", f"_number({v})")
        return out

    def function(self, schema: Any) -> str:
        """The name of a function (value, path, problems) for a schema with parts of its own."""
        schema = self.deref(schema)
        identity = json.dumps({k: v for k, v in schema.items() if k not in ANNOTATIONS}, sort_keys=True)
        if identity in self.functions:
            return self.functions[identity]
        name = self.functions[identity] = f"_check_{len(self.functions)}"
        lines = [f"def {name}(value: Any, path: str, problems: list[str]) -> None:"]
        own = {k: v for k, v in schema.items() if k not in STRUCTURE | {"required", "additionalProperties"}}
        compound = [k for k in ("anyOf", "oneOf", "allOf", "not", "if") if k in own and not self.is_leaf({k: own[k]})]
        for key in compound:
            if key != "allOf":
                raise SystemExit(f"{key} over objects is only understood at the top of the schema")
            lines += [f"    {self.function(part)}(value, path, problems)" for part in own.pop("allOf")]
        base = {k: own.pop(k) for k in ("type",) if k in own}
        if base:
            lines += [
                f"    if not ({self.expression(base, 'value')}):",
                f"        problems.append(f\"{{path or 'event'}}: {self._say(base)}\")",
                "        return",
            ]
        for key in sorted(set(own) - ANNOTATIONS):
            lines += [
                f"    if not ({self.expression({**base, key: own[key]}, 'value')}):",
                f"        problems.append(f\"{{path or 'event'}}: {self._say({key: own[key]})}\")",
            ]
        lines += self._object(schema)
        if "items" in schema:
            item = schema["items"]
            lines.append("    for at, item in enumerate(value):")
            check = self._field(item) if self.is_leaf(item) else self.function(item)
            lines.append(f"        {check}(item, f'{{path}}[{{at}}]', problems)")
        if len(lines) == 1:
            lines.append("    return")
        self.bodies.append("\n".join(lines))
        return name

    def _object(self, schema: Schema) -> list[str]:
        lines: list[str] = []
        properties: dict[str, Any] = schema.get("properties", {})
        required = list(schema.get("required", []))
        for key in [*properties, *(name for name in required if name not in properties)]:
            part = properties.get(key, {})
            check = self._field(part) if self.is_leaf(part) else self.function(part)
            lines.append(f"    _field(value, {key!r}, {key in required}, {check}, path, problems)")
        extra = schema.get("additionalProperties", True)
        if extra not in (True, {}):
            names = tuple(properties)
            lines += ["    for key, item in value.items():", f"        if key not in {names!r}:"]
            if extra is False:
                lines.append("            problems.append(_at(path, key) + ': is not a known field')")
            else:
                lines.append(f"            {self.function(extra)}(item, _at(path, key), problems)")
        return lines

    def _field(self, schema: Any) -> str:
        """The name of a function (value, path, problems) for a schema of one expression."""
        test, text = self.expression(schema, "value"), self._say(self.deref(schema))
        lines = [
            "(value: Any, path: str, problems: list[str]) -> None:",
            f"    if not ({test}):",
            f"        problems.append(f'{{path}}: {text}')",
        ]
        identity = "\n".join(lines)
        if identity not in self.functions:
            name = self.functions[identity] = f"_check_{len(self.functions)}"
            self.bodies.append(f"def {name}{identity}")
        return self.functions[identity]

    def _say(self, schema: Schema) -> str:
        if "const" in schema:
            return f"must be {json.dumps(schema['const'])}"
        if "anyOf" in schema:
            return "must be " + " or ".join(self._say(self.deref(s)).removeprefix("must be ") for s in schema["anyOf"])
        if "enum" in schema:
            return "must be one of " + ", ".join(json.dumps(v) for v in schema["enum"])
        if "required" in schema:
            return "must be present: " + ", ".join(schema["required"])
        words = []
        if "type" in schema:
            kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            words.append(" or ".join(kinds))
        limits = {"minimum": ">=", "maximum": "<=", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
        words += [f"{sign} {schema[key]}" for key, sign in limits.items() if key in schema]
        words += [f"{key} {schema[key]}" for key in ("minLength", "maxLength", "minItems", "maxItems") if key in schema]
        if "format" in schema:
            words.append(schema["format"])
        elif "pattern" in schema:
            words.append("of the form that the schema gives")
        return "must be " + ", ".join(words) if words else "does not fit the schema"


def translate(pattern: str) -> str:
    """An ECMAScript pattern as one of `re` with the same meaning; the few constructs in use, checked."""
    out: list[str] = []
    inside = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            pair = pattern[at : at + 2]
            at += 2
            if pair == "\\d":
                out.append("0-9" if inside else "[0-9]")
            elif pair == "\\s":
                out.append(JS_SPACE if inside else f"[{JS_SPACE}]")
            elif pair == "\\S" and inside and out[-1] == JS_SPACE:
                out[-1] = r"\s\S"  # [\s\S] is every character in either dialect
            elif pair == "\\u" or not pair[1].isalpha():
                out.append(pair)
            else:
                raise SystemExit(f"escape {pair!r} of pattern {pattern!r} is not known to this generator")
            continue
        if char in "[]":
            inside = char == "["
        out.append(r"\Z" if char == "$" and not inside else char)
        at += 1
    text = "".join(out)
    re.compile(text)
    return text


def generate(schema: Schema) -> str:
    writer = Writer(schema)
    branches = schema.get("anyOf") or schema.get("oneOf") or []
    table: dict[str, str] = {}
    for branch in branches:
        kind = writer.deref(branch)["properties"]["event_type"]["const"]
        table[kind] = writer.function(branch)
    if not table or set(schema) - ANNOTATIONS - {"anyOf", "oneOf", "type"}:
        raise SystemExit("the schema is no longer a choice between event types")
    head = [
        '"""Generated from schemas/event_v1.json by scripts/generate_validator.py; do not edit.',
        "",
        "`validate(event)` lists what is wrong with an event, as `path: what it must be`; empty when it is valid.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "import re",
        "from collections.abc import Callable",
        "from typing import Any",
        "",
        "_MISSING: Any = object()",
        *(f"{name} = re.compile({translate(text)!r}).search" for text, name in writer.patterns.items()),
        "",
        "",
        "def _number(value: Any) -> bool:",
        "    return isinstance(value, (int, float)) and not isinstance(value, bool)",
        "",
        "",
        "def _integer(value: Any) -> bool:",
        "    if isinstance(value, float):",
        "        return value.is_integer()",
        "    return isinstance(value, int) and not isinstance(value, bool)",
        "",
        "",
        "def _at(path: str, key: str) -> str:",
        "    return f'{path}.{key}' if path else key",
        "",
        "",
        "def _field(",
        "    value: Any, key: str, required: bool, check: Callable[..., None], path: str, problems: list[str]",
        ") -> None:",
        "    item = value.get(key, _MISSING)",
        "    if item is not _MISSING:",
        "        check(item, _at(path, key), problems)",
        "    elif required:",
        "        problems.append(_at(path, key) + ': is missing')",
    ]
    rows = [f"    {kind!r}: {name}," for kind, name in table.items()]
    tail = [
        "_EVENTS = {",
        *rows,
        "}",
        f"EVENT_TYPES = {tuple(table)!r}",
        "",
        "",
        "def validate(event: Any) -> list[str]:",
        "    if not isinstance(event, dict):",
        "        return ['event: must be object']",
        "    kind = event.get('event_type')",
        "    check = _EVENTS.get(kind) if isinstance(kind, str) else None",
        "    if check is None:",
        "        return ['event_type: must be one of ' + ', '.join(EVENT_TYPES)]",
        "    problems: list[str] = []",
        "    check(event, '', problems)",
        "    return problems",
        "",
    ]
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join(writer.bodies) + "\n\n\n" + "\n".join(tail)


def main() -> int:
    text = generate(json.loads(SCHEMA.read_text("utf-8")))
    if "--check" in sys.argv[1:]:
        stale = TARGET.read_text("utf-8") != text
        if stale:
            print(f"{TARGET.name} is stale: run python scripts/generate_validator.py")
        return int(stale)
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
