import wandb

wandb.init(project="digits")
wandb.log({"train": {"loss": 0.5, "acc": 0.25}, "val": {"loss": 0.75}})
wandb.log({"train": {"loss": 0.25, "acc": 0.5}})
