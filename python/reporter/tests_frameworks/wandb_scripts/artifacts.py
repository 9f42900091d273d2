import wandb

run = wandb.init(project="digits")
with open("model.txt", "w") as file:
    file.write("weights")
artifact = wandb.Artifact("model", type="model", metadata={"acc": 0.5})
artifact.add_file("model.txt")
with artifact.new_file("labels.txt") as file:
    file.write("a b")
run.log_artifact(artifact, aliases=["best"])
wandb.save("model.txt")
run.log({"acc": 0.5})
