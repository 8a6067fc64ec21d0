"""A module that is imported late must not take the name of something its package calls."""

import subprocess
import sys

ALL_MODULES_OF_ALL_PAPERS = """
import importlib, pkgutil

for group in ("formulations", "heuristics"):
    for name in ("aerialedge", "batch", "drp", "llm_inference", "okita", "preemptive"):
        package = importlib.import_module(f"{group}.{name}")
        before = dict(vars(package))
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{group}.{name}.{module.name}")
        for attribute, value in before.items():
            if vars(package)[attribute] is not value:
                print(f"{group}.{name}.{attribute}")
"""


def test_no_module_hides_what_its_package_calls():
    command = [sys.executable, "-c", ALL_MODULES_OF_ALL_PAPERS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
