import wandb


def train(fold: int) -> float:
    wandb.init(
        project="digits",
        group="cv-1",
        job_type="fold",
        name=f"fold-{fold}",
        config={"fold": fold},
        reinit="finish_previous",
    )
    score = 0.0
    for epoch in range(2):
        score = 0.5 + fold / 10 + epoch / 100
        wandb.log({"epoch": epoch, "score": score})
    wandb.summary["fold_score"] = score
    return score


scores = [train(fold) for fold in range(3)]
run = wandb.init(project="digits", group="cv-1", job_type="summary", name="mean")
run.summary["mean"] = sum(scores) / len(scores)
run.log({"mean": sum(scores) / len(scores)})
run.finish()
print(scores)
