"""The online algorithms and baselines: one package per paper."""
