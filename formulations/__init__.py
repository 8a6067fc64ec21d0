"""The exact models: one package per paper, one module per numbered problem."""
