import wandb

try:
    wandb.log({"loss": 1})
except wandb.Error:
    print("refused")
wandb.init(project="digits")
wandb.log({"loss": 1})
wandb.finish()
print(wandb.run)
try:
    wandb.log({"loss": 2})
except wandb.errors.Error:
    print("refused again")
