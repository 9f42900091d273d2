"""`import wandb` under `svc-reporter run-as-wandb`: that module is svc_reporter."""

from svc_reporter._wandb import alias

alias.install()
