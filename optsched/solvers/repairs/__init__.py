"""Repairs: prepare models so that solvers do not err, and correct answers that are wrong.

Each file holds one repair, and names the tests in tests/optsched/solvers whose models solvers get
wrong without it. ``direct.py`` applies them: scaling, tightening and digits prepare a model,
cost scaling is undone in the answer, and the others correct an answer that the model rejects.
"""
