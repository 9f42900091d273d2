import wandb

wandb.init(project="digits")
wandb.define_metric("loss", summary="min")
wandb.define_metric("acc", summary="max", hidden=False)
for loss, acc in ((3, 0.1), (1, 0.9), (2, 0.5)):
    wandb.log({"loss": loss, "acc": acc})
