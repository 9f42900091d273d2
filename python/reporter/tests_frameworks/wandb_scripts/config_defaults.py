import wandb

with open("config-defaults.yaml", "w") as file:
    file.write("wandb_version: 1\nlr:\n  desc: rate\n  value: 0.5\nbatch:\n  value: 16\n")
with open("more.yaml", "w") as file:
    file.write("depth:\n  value: 3\n")
run = wandb.init(project="digits", config={"lr": 0.1, "secret": 1, "kept": 2}, config_exclude_keys=["secret"])
run.config.setdefaults({"lr": 9, "width": 4})
print(sorted(run.config.as_dict().items()))
try:
    run.config["missing"]
except KeyError:
    print("KeyError")
try:
    print(run.config.missing)
except AttributeError:
    print("AttributeError")
run.log({"x": run.config.lr})
