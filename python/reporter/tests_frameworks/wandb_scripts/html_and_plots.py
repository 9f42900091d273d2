import wandb

wandb.init(project="digits")
wandb.log({"page": wandb.Html("<b>bold</b>"), "score": 0.5})
y, scores = [0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]
wandb.log({"cm": wandb.plot.confusion_matrix(y_true=y, preds=[0, 1, 0, 0], class_names=["no", "yes"])})
wandb.log({"score": 1.0})
