"""The evaluation claims of the preemptive paper, measured again; options as of ``optsched claims``.

python benchmarks/claims_preemptive.py            half a minute
python benchmarks/claims_preemptive.py --full     ten seeds, all sizes of Figures 7 to 13
"""

import sys

from optsched.cli import main

if __name__ == "__main__":
    main("claims", "preemptive", *sys.argv[1:])
