import wandb

run = wandb.init(project="digits")
try:
    for step in range(5):
        if step == 3:
            raise KeyError("missing")
        run.log({"loss": step})
except KeyError:
    run.summary["failed_at"] = 3
    print("will end as failed")
finally:
    wandb.finish(exit_code=1)
