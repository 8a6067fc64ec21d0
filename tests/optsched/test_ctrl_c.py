"""Ctrl-C ends a solve with a status, on every back end that listens through the same loop."""

import subprocess
import sys

from optsched.solvers.registry import available

LISTENING = [s for s in ("cbc", "scip", "glop", "scipy") if s in available()]
LISTENING += ["pulp:PULP_CBC_CMD"]
"""Those that run on behind come last: they take what is left of the machine."""

PROGRAM = """
import os, signal, sys, threading
import numpy as np
from optsched import Model, solve
from optsched.testing.endings import large_linear_program, market_split

for solver in sys.argv[1:]:
    model = large_linear_program() if solver == "glop" else market_split(elastic=True)
    easy = Model()
    x = easy.continuous("x", upper=1)
    easy.maximize(x)
    solve(easy, solver)  # so that all is imported when the clock starts
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    print(solver, solve(model, solver, time_limit=60).status, flush=True)
os._exit(0)
"""


def test_ctrl_c_ends_a_solve_with_a_status():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *LISTENING],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    assert {"scip", "scipy"} <= set(LISTENING)
    assert done.stdout.splitlines() == [f"{solver} interrupted" for solver in LISTENING]
