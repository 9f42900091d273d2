"""Programs end in the same way with and without a run: exit status, stdout, and the files that they write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc

PACKAGE = str(Path(svc.__file__).resolve().parents[1])
Make = Callable[..., svc.Reporter]

INIT = """
import os, signal, sys, threading, time
def handlers():
    return [repr(signal.getsignal(number)) for number in sorted(signal.Signals)]
before = handlers()
if os.environ.get("REPORTED") == "1":
    import svc_reporter as svc
    run = svc.init("frameworks", quiet=True, resources_s=0, stop_poll_s=0, environment=False)
    run.log({"loss": 1.0})
print(handlers() == before, flush=True)
"""
SIGNALLED = INIT + "print('ready', flush=True)\nos.kill(os.getpid(), signal.{name})\ntime.sleep(0.5)\nprint('alive')\n"
TIDY = """
import atexit
def say(text):
    open("order.txt", "a").write(text + "\\n")
atexit.register(say, "atexit, registered first")
"""

ASYNCIO = """
import asyncio
async def work():
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        open("saved", "w").write("checkpoint")
        raise
async def main():
    other = asyncio.ensure_future(asyncio.sleep(0.3))
    asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)
    try:
        await work()
    finally:
        await other
        print("clean")
asyncio.run(main())
"""

LIGHTNING = """
import torch, lightning.pytorch as lightning, warnings
from lightning.pytorch.callbacks import OnExceptionCheckpoint
from lightning.pytorch.plugins.environments import SLURMEnvironment
from torch.utils.data import DataLoader, TensorDataset
class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def training_step(self, batch, index):
        if self.global_step == 5:
            os.kill(os.getpid(), signal.{name})
            time.sleep(0.2)
        return self.layer(batch[0]).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
trainer = lightning.Trainer(accelerator="cpu", devices=1, max_steps=20, logger=False, enable_progress_bar=False,
    enable_model_summary=False, enable_checkpointing=True, default_root_dir=".",
    callbacks=[OnExceptionCheckpoint(".")], plugins={plugins})
try:
    trainer.fit(Line(), DataLoader(TensorDataset(torch.rand(40, 3)), batch_size=2))
    print("steps", trainer.global_step)
finally:
    for name in os.listdir("."):
        if name.startswith("hpc"):
            os.rename(name, "requeue.ckpt")
"""

PROGRAMS: dict[str, str] = {
    "returns": INIT + "print(1)",
    "exits with 3": INIT + "sys.exit(3)",
    "exits with a text": INIT + "sys.exit('wrong')",
    "raises SystemExit": INIT + "raise SystemExit(4)",
    "raises": INIT + "raise ValueError('bad')",
    "os._exit": INIT + "os._exit(5)",
    "aborts": INIT + "os.abort()",
    **{
        name: SIGNALLED.replace("{name}", name)
        for name in ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGQUIT")
    },
    "handler set before": "import signal\nsignal.signal(signal.SIGTERM, lambda *_: print('mine', flush=True))\n"
    + SIGNALLED.replace("{name}", "SIGTERM"),
    "handler set later": INIT
    + "print(signal.signal(signal.SIGTERM, lambda *_: print('mine', flush=True)))\n"
    + "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(0.1)\nprint('alive')",
    "order of clean-up": TIDY
    + INIT
    + "atexit.register(say, 'atexit, registered last')\n"
    + "thread = threading.Thread(target=lambda: (time.sleep(0.3), say('thread')))\nthread.start()\nsay('end')",
    "alarm": INIT
    + "signal.signal(signal.SIGALRM, signal.default_int_handler)\nsignal.setitimer(signal.ITIMER_REAL, 0.1)\n"
    "try:\n    time.sleep(5)\nexcept KeyboardInterrupt:\n    print('alarm')",
    "faulthandler": "import faulthandler, signal\nfaulthandler.register(signal.SIGUSR1, file=open('stack', 'w'))\n"
    + INIT
    + "os.kill(os.getpid(), signal.SIGUSR1)\nprint(os.path.getsize('stack') > 0)\nos.truncate('stack', 0)",
    "fork": INIT + "pid = os.fork()\nif pid == 0:\n    sys.exit(6)\nprint(os.waitpid(pid, 0)[1] >> 8)",
    "subprocess": INIT + "import subprocess\nprint(subprocess.run([sys.executable, '-c', 'import signal; "
    "print(signal.getsignal(signal.SIGTERM))'], capture_output=True, text=True).stdout)",
    "multiprocessing": INIT + "import multiprocessing\nif __name__ == '__main__':\n"
    "    with multiprocessing.get_context('fork').Pool(2) as pool:\n        print(pool.map(abs, [-1, 2]))",
    "concurrent.futures": INIT + "from concurrent.futures import ProcessPoolExecutor\nif __name__ == '__main__':\n"
    "    with ProcessPoolExecutor(2) as pool:\n        print(list(pool.map(abs, [-1, 2])))",
    "asyncio": INIT + ASYNCIO,
    "asyncio with a handler": INIT + "import asyncio\nasync def main():\n    stop = asyncio.Event()\n"
    "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)\n"
    "    os.kill(os.getpid(), signal.SIGTERM)\n    await asyncio.wait_for(stop.wait(), 5)\n"
    "    print('stopped')\nasyncio.run(main())",
    "uvloop": INIT + ASYNCIO.replace("asyncio.run(main())", "import uvloop\nuvloop.run(main())"),
    "gevent": "from gevent import monkey\nmonkey.patch_all()\nimport gevent\n"
    + INIT
    + "print([job.get() for job in [gevent.spawn(lambda n=n: (gevent.sleep(0.01), n)[1]) for n in range(3)]])",
    "joblib": INIT
    + "from joblib import Parallel, delayed\nprint(Parallel(n_jobs=2)(delayed(abs)(-n) for n in range(3)))",
    "pdb": INIT
    + "import pdb, io\npdb.Pdb(stdin=io.StringIO('p 1 + 1\\nc\\n'), stdout=sys.stdout).set_trace()\nprint('after')",
    "submitit": INIT + "import submitit.helpers, submitit.core.job_environment\n"
    "from submitit.core.job_environment import SignalHandler\n"
    "env = submitit.core.job_environment.JobEnvironment.__new__(submitit.core.job_environment.JobEnvironment)\n"
    "print([str(signal.getsignal(name)) for name in (signal.SIGUSR2, signal.SIGTERM, signal.SIGCONT)])",
    "elastic agent": INIT.replace('"1"', '"never"')
    + "import subprocess\nopen('rank.py', 'w').write('''"
    + INIT
    + "\nrank = int(os.environ[\"RANK\"])\nif rank == 1:\n    time.sleep(1)\n    sys.exit(9)\ntime.sleep(60)\n''')\n"
    "command = [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', '2', 'rank.py']\n"
    "done = subprocess.run(command, capture_output=True, text=True)\n"
    "print(done.returncode, 'exitcode  : 9' in done.stderr, 'SIGTERM' in done.stderr)",
    "Lightning, requeued by Slurm": INIT + LIGHTNING.format(name="SIGUSR1", plugins="[SLURMEnvironment()]"),
    "Lightning, SIGTERM": INIT + LIGHTNING.format(name="SIGTERM", plugins="[]"),
}
"""Each prints nothing that differs from one run to the next."""


def _outcome(folder: Path, program: str, reported: bool) -> tuple[int, str, dict[str, int]]:
    """Exit status, stdout, and the files with their number of lines, or 1 for those that are not text."""
    folder.mkdir()
    bin_folder = folder.with_name(f"{folder.name}-bin")
    bin_folder.mkdir()
    (bin_folder / "scontrol").write_text('#!/bin/sh\necho "$@" > requeued\n')
    (bin_folder / "scontrol").chmod(0o755)
    (folder / "program.py").write_text(program)
    env = {
        **os.environ,
        "REPORTED": str(int(reported)),
        "PYTHONPATH": PACKAGE,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "SVC_WATCHDOG": "1",
    }
    if "SLURMEnvironment()" in program:
        env |= {"SLURM_NTASKS": "1", "SLURM_JOB_NAME": "train", "SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}
        env |= {"SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=env, timeout=300, capture_output=True, text=True, check=False
    )
    assert "Exception ignored" not in done.stderr, done.stderr
    files: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "program.py" and "__pycache__" not in path.parts:
            is_text = path.suffix in (".txt", "")
            files[str(path.relative_to(folder))] = len(path.read_text().splitlines()) if is_text else 1
    return done.returncode, done.stdout.replace(str(folder), "FOLDER"), files


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same_with_a_run_and_without_one(make: Make, tmp_path: Path, name: str) -> None:
    make()
    without = _outcome(tmp_path / "without", PROGRAMS[name], reported=False)
    assert _outcome(tmp_path / "with", PROGRAMS[name], reported=True) == without


def test_the_programs_do_what_their_names_say(make: Make, tmp_path: Path) -> None:
    make()
    code, out, files = _outcome(tmp_path / "a", PROGRAMS["Lightning, requeued by Slurm"], reported=True)
    assert (code, files["requeued"], "requeue.ckpt" in files) == (0, 1, True), (out, files)
    code, out, files = _outcome(tmp_path / "b", PROGRAMS["SIGTERM"], reported=True)
    assert (code, out) == (-signal.SIGTERM, "True\nready\n"), files
    code, out, files = _outcome(tmp_path / "c", PROGRAMS["asyncio"], reported=True)
    assert ("clean" in out, "saved" in files) == (True, True), (code, out, files)
