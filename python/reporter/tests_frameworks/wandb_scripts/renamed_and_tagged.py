import wandb

run = wandb.init(project="digits", tags=["start"], notes="first")
wandb.run.name = "renamed-" + str(3)
run.tags += ("best",)
run.tags = (*run.tags, "late")
run.notes = "changed\nin two lines"
run.log({"loss": 1.0})
print(run.name, run.tags, run.notes)
run.finish()
