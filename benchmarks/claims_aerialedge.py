"""What AerialEdge's evaluation states, measured again: ``optsched claims aerialedge``.

Options are those of the command: ``--full``, ``--workers``, ``--data``, ``-o FILE``.
"""

import sys

from optsched.cli import main

if __name__ == "__main__":
    main("claims", "aerialedge", "--overview", *sys.argv[1:])
