import wandb

run = wandb.init(project="digits", settings=wandb.Settings(silent=True))
assert run.step == 0 and not run.resumed
wandb.log({"loss": 1})
wandb.log({"loss": 0.5})
assert run.step == 2 and run.path and run.start_time > 0
run.mark_preempting()
wandb.finish()
