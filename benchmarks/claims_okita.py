"""What Okita's evaluation states, measured again: ``optsched claims okita``.

Options are those of the command: ``--full``, ``--workers``, ``--data``, ``-o FILE``.
"""

import sys

from optsched.cli import main

if __name__ == "__main__":
    main("claims", "okita", "--overview", *sys.argv[1:])
