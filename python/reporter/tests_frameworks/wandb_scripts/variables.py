import os

os.environ["WANDB_PROJECT"] = "digits"
os.environ["WANDB_NAME"] = "from-variables"
os.environ["WANDB_RUN_GROUP"] = "a-group"
os.environ["WANDB_TAGS"] = "one,two"
os.environ["WANDB_NOTES"] = "notes of a variable"
os.environ["WANDB_JOB_TYPE"] = "eval"

import wandb

run = wandb.init(config={"lr": 1})
run.log({"score": 0.5})
print(run.name, run.group, run.tags, run.notes, run.job_type, run.project == os.environ["WANDB_PROJECT"])
wandb.finish()
