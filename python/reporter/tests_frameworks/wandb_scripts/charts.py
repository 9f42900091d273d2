import wandb

run = wandb.init(project="digits")
truth, guess = [0, 1, 1, 0], [0, 1, 0, 0]
scores = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]]
run.log({"loss": 1.0, "cm": wandb.plot.confusion_matrix(y_true=truth, preds=guess, class_names=["a", "b"])})
table = wandb.Table(data=[[x, x * x] for x in range(5)], columns=["x", "y"])
run.log({"line": wandb.plot.line(table, "x", "y", title="squares"), "loss": 0.5})
run.log({"bar": wandb.plot.bar(table, "x", "y"), "scatter": wandb.plot.scatter(table, "x", "y"), "loss": 0.25})
run.log({"hist": wandb.plot.histogram(table, "y"), "loss": 0.125})
series = wandb.plot.line_series(xs=[0, 1, 2], ys=[[1, 2, 3], [3, 2, 1]], keys=["up", "down"], title="two")
run.log({"series": series, "loss": 0.0625})
run.finish()
