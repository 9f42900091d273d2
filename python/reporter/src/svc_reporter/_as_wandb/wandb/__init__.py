"""`import wandb` under `svc-reporter run-as-wandb`: that module is svc_reporter."""

from svc_reporter import _alias

_alias.install()
