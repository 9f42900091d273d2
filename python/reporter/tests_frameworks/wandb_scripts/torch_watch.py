import torch
import wandb

torch.manual_seed(0)
wandb.init(project="digits", config={"hidden": 4})
model = torch.nn.Sequential(torch.nn.Linear(3, wandb.config.hidden), torch.nn.ReLU(), torch.nn.Linear(4, 1))
wandb.watch(model, criterion=torch.nn.MSELoss(), log="all", log_freq=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(torch.ones(2, 3)) - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
    wandb.log({"loss": loss, "item": loss.item(), "lr": optimizer.param_groups[0]["lr"]})
torch.save(model.state_dict(), "model.pth")
wandb.save("model.pth")
wandb.unwatch(model)
wandb.finish()
