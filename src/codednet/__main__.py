"""`python -m codednet`: the command line, for launchers such as torchrun."""

import sys

from codednet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
