"""OR-tools' MathOpt: SCIP, GLOP and PDLP."""
