import argparse

import wandb

args = argparse.Namespace(debug=True, lr=0.1)
run = wandb.init(project="digits", config=args, mode="disabled" if args.debug else None)
wandb.watch(None)
wandb.define_metric("loss", summary="min")
for step in range(3):
    run.log({"loss": step}, step=step)
    wandb.log({"image": wandb.Image([[0, 1], [1, 0]])}) if step > 5 else None
run.summary["best"] = 1
wandb.config.update({"lr": 0.2}, allow_val_change=True)
print(wandb.config.lr, wandb.config["debug"], run.summary["best"], bool(run.id), run.disabled)
wandb.save("nothing.txt")
wandb.alert(title="none", text="none")
wandb.finish()
