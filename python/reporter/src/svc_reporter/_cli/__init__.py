"""The command `svc-reporter`, a module for each of its commands."""

from .command import main as main
