import wandb

wandb.init(project="digits")
for loss in (3.0, 1.0, 2.0):
    wandb.log({"loss": loss})
assert wandb.run.summary["loss"] == 2.0
wandb.run.summary["best"] = 1.0
wandb.summary.update({"epochs": 3})
assert wandb.run.summary["best"] == 1.0 and wandb.summary.get("epochs") == 3
