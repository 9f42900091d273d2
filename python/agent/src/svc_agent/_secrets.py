"""References `{{env:NAME}}` in a command to secrets in the agent's environment.

The shell that runs the command expands them. The command on the service and the files of the agent never contain the
value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NOT_SET = "secret_not_set"
REFERENCES = "SVC_SECRET_REFS"
"""The variable that tells the reporter which values in the command it must replace by references."""

_REFERENCE = re.compile(r"\{\{env:([A-Za-z_][A-Za-z0-9_]*)\}\}")


class SecretNotSet(Exception):
    """A command refers to a variable that is not set for the process."""


def names_in(command: str) -> list[str]:
    return sorted(set(_REFERENCE.findall(command)))


def fill_in(command: str, env: Mapping[str, str]) -> str:
    """The command with each reference replaced by a shell expansion that gives one word, also inside quotes.

    `env` is the environment of the process. Raises SecretNotSet.
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
    """The text with the values of these variables replaced by references."""
    values = sorted(((env[name], name) for name in names if len(env.get(name, "")) >= 4), reverse=True, key=_by_length)
    for value, name in values:
        text = text.replace(value, f"{{{{env:{name}}}}}")
    return text


def _by_length(pair: tuple[str, str]) -> int:
    return len(pair[0])
