import wandb

run = wandb.init(project="digits", config={"patience": 2})
best, waited = float("inf"), 0
for epoch, loss in enumerate((3.5, 2.25, 2.5, 2.75, 1.0)):
    run.log({"val_loss": loss})
    if loss < best:
        best, waited = loss, 0
        run.summary["best_loss"] = best
        wandb.run.summary["best_epoch"] = epoch
    else:
        waited += 1
    if waited >= run.config.patience:
        run.summary.update({"stopped_early": True, "at": {"epoch": epoch, "why": "patience"}})
        break
wandb.summary["host_independent"] = "text"
print(wandb.summary["best_loss"], wandb.summary.get("best_epoch"), run.summary["val_loss"], run.summary.get("none"))
