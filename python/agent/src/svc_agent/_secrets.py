"""`{{env:NAME}}` in a command: a secret by name, whose value is only in the agent's environment.

The shell fills it in, from the environment that the process is started with: neither the command on the service nor
any file of the agent ever holds the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NOT_SET = "secret_not_set"
REFERENCES = "SVC_SECRET_REFS"
"""Tells the reporter of the process which variables it must name rather than show."""

_REFERENCE = re.compile(r"\{\{env:([A-Za-z_][A-Za-z0-9_]*)\}\}")


class SecretNotSet(Exception):
    """The agent's environment lacks a variable that a command names, or it is none that a process may have."""


def names_in(command: str) -> list[str]:
    return sorted(set(_REFERENCE.findall(command)))


def fill_in(command: str, env: Mapping[str, str]) -> str:
    """The command for a POSIX shell, which replaces each reference by its value as one word, however it is quoted.

    Raises SecretNotSet. `env` is what the process will be given, without the secrets of the agent itself.
    """
    missing = [name for name in names_in(command) if name not in env or name.startswith("SVC_")]
    if missing:
        raise SecretNotSet(", ".join(missing))
    filled: list[str] = []
    quote = ""
    at = 0
    while at < len(command):
        found = _REFERENCE.match(command, at)
        if found:
            variable = f"${{{found[1]}}}"
            filled.append({"": f'"{variable}"', '"': variable, "'": f"'\"{variable}\"'"}[quote])
            at = found.end()
            continue
        character = command[at]
        if character == "\\" and quote != "'":
            filled.append(command[at : at + 2])
            at += 2
            continue
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        filled.append(character)
        at += 1
    return "".join(filled)


def hide(text: str, names: list[str], env: Mapping[str, str]) -> str:
    """Output of a process, with the values of these variables replaced by their references."""
    values = sorted(((env[name], name) for name in names if len(env.get(name, "")) >= 4), reverse=True, key=_by_length)
    for value, name in values:
        text = text.replace(value, f"{{{{env:{name}}}}}")
    return text


def _by_length(pair: tuple[str, str]) -> int:
    return len(pair[0])
