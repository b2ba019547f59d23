"""`python -m ramify` is the command `ramify`."""

import sys

from ramify.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
