"""`svc-reporter completion bash|zsh|fish`: a script for the shell, made from the parser itself."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    commands = _commands(parser)
    if shell == "fish":
        return _fish(commands)
    script = _bash(commands)
    return script if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{script}"


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[str, list[str]]]:
    """The description and the options of each command."""
    found: dict[str, tuple[str, list[str]]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                options = [option for one in command._actions for option in one.option_strings if option[:2] == "--"]
                found[name] = (command.description or "", sorted(options))
    return found


def _bash(commands: dict[str, tuple[str, list[str]]]) -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(options)}" ;;' for name, (_, options) in commands.items())
    return f"""_svc_reporter() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{" ".join(commands)}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _svc_reporter svc-reporter
"""


def _fish(commands: dict[str, tuple[str, list[str]]]) -> str:
    lines = ["complete -c svc-reporter -n __fish_use_subcommand -f"]
    for name, (text, options) in commands.items():
        told = text.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c svc-reporter -n __fish_use_subcommand -a {name} -d '{told}'")
        lines += [
            f"complete -c svc-reporter -n '__fish_seen_subcommand_from {name}' -l {option[2:]}" for option in options
        ]
    return "\n".join(lines) + "\n"
