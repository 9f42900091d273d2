"""`svc-reporter run-as-wandb`: the W&B integrations of the libraries themselves report here.

One script for all of them, because torch takes long to import. What their code calls, by library:

transformers  init, config.update, config[...], define_metric, watch, log, run.summary, run._label, run.log_artifact,
              Artifact.add_file, Artifact.new_file, finish, env
lightning     run, init, _attach (only in a spawned process), define_metric, log, watch, config.update, log_artifact,
              use_artifact, Artifact, Image, Table, sdk.lib.RunDisabled, wandb_run.Run
accelerate    init, run.config.update, run.log, Image, Table, finish
keras         (W&B's own callback) WandbMetricsLogger
ultralytics   run, init, define_metric, log, Image, Table, plot_table, Artifact.add_file, run.log_artifact, finish

Of these only `_attach` has no counterpart: 95%. Optuna's callback (init, run, log, config.update, sdk.wandb_run.Run)
was tried by hand: it is a package of its own, which these tests do not install.
"""

from __future__ import annotations

import csv
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.kit.real_server import RealServer
from tests.test_from_wandb import BARE

SCRIPT = """
import os, sys
import numpy as np, torch, wandb
import svc_reporter
assert wandb is svc_reporter
os.environ["WANDB_PROJECT"] = project = sys.argv[1]

from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x=None, labels=None):
        y = self.layer(x).squeeze(-1)
        return {"loss": ((y - labels) ** 2).mean(), "logits": y}
data = [{"x": torch.ones(4) * i / 32, "labels": torch.tensor(i / 32)} for i in range(32)]
arguments = TrainingArguments("out", report_to="wandb", run_name="hf", max_steps=6, logging_steps=2, use_cpu=True,
    per_device_train_batch_size=8, eval_strategy="steps", eval_steps=3, save_strategy="no", disable_tqdm=True)
Trainer(Model(), arguments, train_dataset=data, eval_dataset=data).train()
assert wandb.config.max_steps == 6
wandb.finish()

import lightning
from lightning.pytorch.loggers import WandbLogger
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.save_hyperparameters({"width": 4})
    def training_step(self, batch, at):
        loss = self.layer(batch[0]).pow(2).mean()
        self.log("train_loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 4)), batch_size=8)
logger = WandbLogger(project=project, name="pl")
lightning.Trainer(max_epochs=2, logger=logger, log_every_n_steps=2, accelerator="cpu", enable_progress_bar=False,
    enable_checkpointing=False, enable_model_summary=False).fit(Module(), loader)
logger.log_image("image", [np.zeros((4, 4, 3), dtype="uint8")])
logger.log_table("table", columns=["a"], data=[[1]])
wandb.finish()

from accelerate import Accelerator
accelerator = Accelerator(log_with="wandb", cpu=True)
accelerator.init_trackers(project, config={"lr": 0.1}, init_kwargs={"wandb": {"name": "acc"}})
for step in range(3):
    accelerator.log({"loss": 1 / (step + 1)}, step=step)
accelerator.end_training()

import keras
from wandb.integration.keras import WandbMetricsLogger
with wandb.init(name="ke"):
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((16, 4)), np.zeros(16), epochs=2, verbose=0, callbacks=[WandbMetricsLogger()])
"""


def _run_as_wandb(service: RealServer, folder: Path, text: str, project: str) -> str:
    """Runs a script with `import wandb` as this package, and returns what it wrote to stderr."""
    script = folder / "train.py"
    script.write_text(text)
    env = {**BARE, "HOME": str(folder), "SVC_WATCHDOG": "0", "KERAS_BACKEND": "torch", "HF_HUB_OFFLINE": "1"}
    env |= {"SVC_URL": service.url, "SVC_TOKEN": service.token, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "svc_reporter", "run-as-wandb", str(script), project]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stderr


def test_the_integrations_of_libraries_report_here(service: RealServer, tmp_path: Path) -> None:
    project = f"as-wandb-{secrets.token_hex(4)}"
    stderr = _run_as_wandb(service, tmp_path, SCRIPT, project)
    assert "not supported" not in stderr.replace("settings", ""), stderr
    batches = {one["name"]: one for one in service.call("GET", f"/api/batches?project={project}")["items"]}
    assert set(batches) == {"hf", "pl", "acc", "ke"}
    assert {one["status"] for one in batches.values()} == {"completed"}

    def series(name: str) -> dict[str, list[Any]]:
        found = service.call("GET", f"/api/batches/{batches[name]['id']}/metrics")["series"]
        return {one["key"]: one["values"] for one in found}

    assert len(series("hf")["train/loss"]) == 3
    assert len(series("hf")["eval/loss"]) == 2
    assert len(series("pl")["train_loss"]) == 4
    assert series("acc")["loss"] == [1, 0.5, 1 / 3]
    assert any(len(values) == 2 for values in series("ke").values())
    media = service.call("GET", f"/api/batches/{batches['pl']['id']}/media")["items"]
    assert {item["key"] for item in media} == {"image", "table"}


ULTRALYTICS = """
import os, sys
os.environ["YOLO_CONFIG_DIR"] = os.getcwd()
import numpy as np
from PIL import Image
for part in ("train", "val"):
    for kind in ("images", "labels"):
        os.makedirs(f"data/{kind}/{part}")
    for at in range(8):
        pixels = np.zeros((32, 32, 3), np.uint8)
        pixels[8:24, 8:24, at % 3] = 255
        Image.fromarray(pixels).save(f"data/images/{part}/{at}.png")
        open(f"data/labels/{part}/{at}.txt", "w").write("0 0.5 0.5 0.5 0.5")
with open("data.yaml", "w") as file:
    file.write(f"path: {os.getcwd()}/data\\ntrain: images/train\\nval: images/val\\nnames: {{0: square}}\\n")

from ultralytics import YOLO, settings
settings.update({"wandb": True, "mlflow": False, "tensorboard": False, "raytune": False, "sync": False,
    "runs_dir": os.getcwd()})
YOLO("yolov8n.yaml").train(data="data.yaml", epochs=1, imgsz=32, batch=4, workers=0, device="cpu", amp=False,
    project=sys.argv[1], name="ul", verbose=False)
"""


def test_ultralytics_own_integration_reports_here(service: RealServer, tmp_path: Path) -> None:
    """An untrained model from its description, so that no weights are downloaded."""
    pytest.importorskip("cv2", reason="OpenCV does not load here", exc_type=ImportError)
    pytest.importorskip("ultralytics")
    project = f"ultralytics-{secrets.token_hex(4)}"
    _run_as_wandb(service, tmp_path, ULTRALYTICS, project)
    [batch] = service.call("GET", f"/api/batches?project={project}")["items"]
    assert (batch["name"], batch["status"]) == ("ul", "completed")
    assert service.call("GET", f"/api/batches/{batch['id']}")["config"]["imgsz"] == 32
    found = service.call("GET", f"/api/batches/{batch['id']}/metrics")["series"]
    series = {one["key"]: one["values"] for one in found}
    with open(next(tmp_path.glob(f"**/{project}/ul/results.csv")), newline="") as file:
        [row] = csv.DictReader(file)
    for name, text in row.items():
        if name not in ("epoch", "time"):
            assert series[name][0] == pytest.approx(float(text)), name
    media = service.call("GET", f"/api/batches/{batch['id']}/media?limit=100")["items"]
    kinds = {item["key"]: item["values"][0]["_type"] for item in media}
    assert (kinds["results"], kinds["curves/F1-Confidence(B)"]) == ("image", "table")
    [made] = service.call("GET", f"/api/batches/{batch['id']}/artifacts")["items"]
    assert (made["type"], made["state"], made["files"]) == ("model", "ready", 1)
