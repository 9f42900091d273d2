import os

import wandb

run = wandb.init(project="digits", job_type="train", config={"epochs": 2})
for epoch in range(run.config.epochs):
    os.makedirs("checkpoints", exist_ok=True)
    with open(f"checkpoints/epoch{epoch}.pt", "wb") as file:
        file.write(b"weights" * (epoch + 1))
    artifact = wandb.Artifact(
        "model-digits", type="model", metadata={"epoch": epoch, "val": {"loss": 1.0 / (epoch + 1)}}
    )
    artifact.add_file(f"checkpoints/epoch{epoch}.pt", name="model.pt")
    artifact.add_dir("checkpoints", name="all")
    run.log_artifact(artifact, aliases=["latest", f"epoch-{epoch}"])
    run.log({"epoch": epoch, "loss": 1.0 / (epoch + 1)})
run.log_model("checkpoints/epoch1.pt", name="final-digits")
wandb.save("checkpoints/*.pt")
print(artifact.name.startswith("model-digits"), artifact.type, artifact.metadata["epoch"])
wandb.finish()
