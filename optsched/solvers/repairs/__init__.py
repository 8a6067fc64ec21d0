"""Repairs: what keeps solvers from answers that are wrong, and mends those they give all the same.

Each file holds one repair, and names the tests in tests/optsched/solvers whose models solvers get
wrong without it. ``direct.py`` applies them: scaling, tightening and digits restate a model, cost
scaling is undone on the way back, and the mends follow an answer that the model does not accept.
"""
