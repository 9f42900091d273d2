import wandb

with wandb.init(project="digits", job_type="train", tags=["a", "b"], notes="n") as run:
    for step in range(5):
        run.log({"loss": float(step)})
    run.summary["best"] = 4
