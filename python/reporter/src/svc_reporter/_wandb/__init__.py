"""`import wandb` is this package: the calls of its module, its submodules, and the alias."""
