"""Masks secrets in a command line before it is sent, by names and by the formats of known tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

MASK = "***"

_SECRET_PARTS = {
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "secrets",
    "apikey",
    "credential",
    "credentials",
}
# Every shell sets these to a folder; their values must stay in a recorded command.
_SHELL_FOLDERS = {"PWD", "OLDPWD"}
_SECRET_PAIRS = {("api", "key"), ("access", "key"), ("private", "key"), ("secret", "key"), ("auth", "key")}
_TOKEN_OWNERS = {
    "api",
    "auth",
    "access",
    "bearer",
    "hf",
    "hub",
    "svc",
    "wandb",
    "github",
    "git",
    "gh",
    "user",
    "id",
}
_SHAPES = re.compile(
    r"(?:em_live_|em_read_|ag_live_|hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|AKIA|ASIA|npm_|pypi-)"
    r"[A-Za-z0-9_\-]{8,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
)
_USERINFO = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_ASSIGNMENT = re.compile(r"(?s)(-{0,2}[A-Za-z_][\w.\-]*)=(.+)")


REFERENCES = "SVC_SECRET_REFS"
"""Names of variables, separated by commas. Their values in a command are replaced by `{{env:NAME}}`, which svc-agent
replaces by the values in its environment."""


_REFERENCE = re.compile(r"\{\{env:[A-Za-z_][A-Za-z0-9_]*\}\}")


def redact_arguments(arguments: Sequence[str], env: Mapping[str, str]) -> tuple[list[str], bool]:
    """The arguments with secrets masked, and whether anything was.

    A value that SVC_SECRET_REFS names becomes a reference, which is no mask: the command can be run again.
    Handles `--token X`, `--token=X`, `API_KEY=X`, `trainer.hub_token=X`, addresses with a password, known
    token shapes, and the values of environment variables whose names are secret.
    """
    references = _references(env)
    arguments = [_refer(argument, references) for argument in arguments]
    values = [v for k, v in env.items() if len(v) >= 8 and is_secret_name(k, v)]
    out: list[str] = []
    changed = False
    flag: str | None = None
    for argument in arguments:
        clean = argument
        if flag is not None and not argument.startswith("-") and _is_secret(flag, argument):
            clean = MASK
        else:
            pair = _ASSIGNMENT.fullmatch(argument)
            if pair and _is_secret(pair[1], pair[2]):
                clean = f"{pair[1]}={MASK}"
        clean = redact_text(clean, values)
        changed = changed or clean != argument
        flag = argument if argument.startswith("-") and "=" not in argument else None
        out.append(clean)
    return out, changed


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name, value) and not _REFERENCE.fullmatch(value)


def _references(env: Mapping[str, str]) -> list[tuple[str, str]]:
    names = [name.strip() for name in env.get(REFERENCES, "").split(",")]
    return sorted(((env[name], name) for name in names if len(env.get(name, "")) >= 4), key=lambda pair: -len(pair[0]))


def _refer(argument: str, references: Sequence[tuple[str, str]]) -> str:
    for value, name in references:
        argument = argument.replace(value, f"{{{{env:{name}}}}}")
    return argument


def redact_text(text: str, values: Sequence[str] = ()) -> str:
    """Free text (a failure's message, an argument) without token shapes, passwords in addresses and `values`."""
    for value in values:
        if value in text:
            text = text.replace(value, MASK)
    text = _SHAPES.sub(MASK, text)
    if "://" in text:
        text = _USERINFO.sub(MASK, text)
    lower = text.lower()
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(lambda m: f"{m[1]} {MASK}", text)
    return text


def redact_address(address: str) -> str:
    """An address, or what is there in its place, without a user, password, query or fragment."""
    before, at, rest = re.split("[?#]", address, maxsplit=1)[0].rpartition("@")
    return redact_text(f"{MASK}{at}{rest}" if before else rest)


def is_secret_name(name: str, value: str = "") -> bool:
    """Whether a flag or variable of this name holds a secret.

    `token` alone is ambiguous in machine learning (`--eos-token "</s>"`, `--max-tokens 512`): it counts when
    it is a whole word or comes with an owner (`hf_token`), or when the value looks random.
    """
    if name in _SHELL_FOLDERS:
        return False
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    parts = [part for part in re.split(r"[^a-z0-9]+", spaced.lower()) if part]
    if not parts:
        return False
    if _SECRET_PARTS & set(parts) or any(pair in _SECRET_PAIRS for pair in pairwise(parts)):
        return True
    if parts[-1] not in ("token", "auth"):
        return False
    if len(parts) == 1 or _TOKEN_OWNERS & set(parts[:-1]):
        return not value.strip().isdigit() and value.strip().lower() not in ("true", "false", "")
    return bool(re.fullmatch(r"[A-Za-z0-9_\-.]{16,}", value)) and any(c.isdigit() for c in value)


def masked_text(text: str, env: Mapping[str, str]) -> str:
    """Code or a diff without the values of secret names, known token formats and secret values of `env`."""
    values = [value for name, value in env.items() if len(value) >= 8 and is_secret_name(name, value)]
    lines = []
    for line in redact_text(text, values).split("\n"):
        name, sign, value = _assignment(line)
        bare = value.strip().strip("\"',;")
        lines.append(
            f"{line[: len(line) - len(value)]} {MASK}" if sign and bare and is_secret_name(name, bare) else line
        )
    return "\n".join(lines)


def _assignment(line: str) -> tuple[str, str, str]:
    """`+ API_KEY = "x"` → its name, sign and value."""
    for sign in ("=", ":"):
        before, found, value = line.partition(sign)
        if found:
            return before.lstrip("+- \t").strip("\"' \t"), found, value
    return "", "", ""


def without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with the values of secret names masked, at any depth."""
    return {key: _without_secret(key, value) for key, value in config.items()}


def _without_secret(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return without_secrets(value)
    if isinstance(value, list):
        return [_without_secret(name, item) for item in value]
    if isinstance(value, str):
        return MASK if value and is_secret_name(name, value) else redact_text(value)
    return value
