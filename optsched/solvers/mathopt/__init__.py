"""OR-tools' MathOpt: SCIP, GLOP, PDLP and another HiGHS."""
