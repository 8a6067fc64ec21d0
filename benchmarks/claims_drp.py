"""What the DRP/DSRP paper's evaluation states, measured again: ``optsched claims drp``.

Options are those of the command: ``--full``, ``--workers``, ``--data``, ``-o FILE``.
"""

import sys

from optsched.cli import main

if __name__ == "__main__":
    main("claims", "drp", "--overview", *sys.argv[1:])
