import wandb

run = wandb.init(project="digits")
run.define_metric("global_step")
run.define_metric("train/*", step_metric="global_step")
run.define_metric("val/acc", summary="max")
step = 0
for epoch in range(2):
    for _ in range(3):
        wandb.log({"train/loss": 1 / (step + 1), "global_step": step})
        step += 1
    wandb.log({"val/acc": 0.5 + epoch / 10, "val/loss": 1.0 - epoch / 4, "global_step": step})
print(run.step)
wandb.finish()
