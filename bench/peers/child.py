"""One tracker in a process of its own: `child.py TOOL log STEPS VALUES`, or `child.py TOOL count`; see run.py.

A tracker is a file with `open_run()`, which returns what logs one step and what ends the run, and `count()`, which
returns how many values are in storage. One with a server has `serve(home, port)`, the command that starts it.
"""

import importlib.util
import json
import random
import sys
import time
from pathlib import Path

tool, action = sys.argv[1:3]
# The folder of this file has a module named as the package of each tracker.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]
spec = importlib.util.spec_from_file_location(f"peer_{tool}", Path(__file__).parent / f"{tool}.py")
assert spec is not None and spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

if action == "count":
    print(module.count())
else:
    steps, values = int(sys.argv[3]), int(sys.argv[4])
    log, finish = module.open_run()
    number = random.Random(0).random
    begun, clock = time.time(), time.perf_counter()
    for step in range(steps):
        log({f"m{i}": number() for i in range(values)}, step)
    loop_s = time.perf_counter() - clock
    finish()
    print(json.dumps({"begun": begun, "loop_s": loop_s}))
