import wandb

wandb.init(project="digits")
wandb.log({"loss": float("nan"), "big": 1e300, "flag": True, "count": 7})
wandb.log({"loss": float("inf"), "small": 1e-300, "flag": False, "text": "words"})
