import wandb

run = wandb.init(project="digits")
run.define_metric("acc", summary="max")
run.define_metric("loss", summary="min,last")
for acc, loss in ((0.25, 3.5), (0.75, 1.5), (0.5, 2.5)):
    run.log({"acc": acc, "loss": loss, "phase": "train", "val": {"auc": acc}})
print(run.summary["acc"]["max"], run.summary["loss"]["min"], run.summary["phase"], run.summary["val"]["auc"])
run.summary["acc"] = 0.875
print(run.summary["acc"])
run.log({"plain": 1.5})
run.summary["plain"] = 2.5
run.log({"plain": 3.5})
print(run.summary["plain"], run.summary.get("none"), run.step)
