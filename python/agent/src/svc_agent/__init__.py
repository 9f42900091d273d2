"""Starts and stops training runs on this host for the experiment monitoring service: the command `svc-agent`."""

from ._version import __version__

__all__ = ["__version__"]
