"""What the batch scheduling paper's evaluation states, measured again: ``optsched claims batch``.

Options are those of the command: ``--full``, ``--workers``, ``--data``, ``-o FILE``.
"""

import sys

from optsched.cli import main

if __name__ == "__main__":
    main("claims", "batch", "--overview", *sys.argv[1:])
