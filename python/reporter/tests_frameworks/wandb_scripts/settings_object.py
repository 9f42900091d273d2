import wandb

settings = wandb.Settings(run_name="by-settings", run_group="g", run_tags=["s"], x_disable_stats=True)
run = wandb.init(project="digits", settings=settings, allow_val_change=True, force=False, save_code=False)
wandb.termlog("training starts")
for step in range(2):
    run.log({"loss": step}, step=step, commit=True)
print(run.name, run.group, run.tags, run.offline in (True, False), run.resumed, run.step)
wandb.finish()
