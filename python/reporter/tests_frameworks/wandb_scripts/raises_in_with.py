import wandb

try:
    with wandb.init(project="digits", name="caught") as run:
        run.log({"loss": 1.0})
        raise ValueError("out of memory, or so")
except ValueError as error:
    print("caught", error)
with wandb.init(project="digits", name="retry", config={"batch": 8}) as run:
    run.log({"loss": 0.5})
    raise RuntimeError("again")
