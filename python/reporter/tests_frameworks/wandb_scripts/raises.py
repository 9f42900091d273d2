import wandb

wandb.init(project="digits")
wandb.log({"loss": 1})
raise RuntimeError("the loss is not finite")
