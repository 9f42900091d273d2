import wandb

run = wandb.init(project="digits")
run.define_metric("epoch")
run.define_metric("val/*", step_metric="epoch")
run.define_metric("val/acc", step_metric="epoch", summary="max")
run.define_metric("loss", summary="min,mean,last")
run.define_metric("hidden", summary="none")
run.define_metric("begin", summary="first")
run.define_metric("copied", summary="copy")
for epoch, (loss, acc) in enumerate(((3.0, 0.25), (1.0, 0.75), (2.0, 0.5))):
    wandb.log({"loss": loss, "hidden": loss, "begin": loss, "copied": loss})
    wandb.log({"val/acc": acc, "val/loss": 1 - acc, "epoch": epoch})
run.finish()
