"""Ctrl-C ends a command within seconds, whatever it is at, and what is known is written."""

import json
import os
import random
import signal
import subprocess
import sys
import time

DEAF = """
import ctypes, os, signal, threading
from optsched.cli.interrupts import heard

signal.siginterrupt(signal.SIGINT, False)  # as in a loop of machine code, nothing is looked at
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
with heard():
    ctypes.CDLL(None).getchar()
"""


def test_what_keeps_the_main_thread_from_hearing_is_ended_all_the_same():
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert "Ctrl-C again ends at once" in process.stderr.readline()
        assert process.wait(20) == 130


def test_ctrl_c_fetches_what_a_process_of_its_own_knows(command, tmp_path):
    sizes = [2 * n for n in random.Random(1).choices(range(10**7, 10**8), k=60)]
    path, out = tmp_path / "hard.json", tmp_path / "schedule.json"
    path.write_text(json.dumps({"price": sizes, "size": sizes, "demand": sum(sizes) // 4 * 2}))
    process = command("solve", "covering.knapsack", path, "--memory-limit", 4, "-o", out)
    assert any("solving" in line for line in process.stderr)
    time.sleep(3)  # its start, and some of a search that takes far longer
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "interrupted" in said
    assert out.exists()
