"""``python -m spatialindex``: the command ``spatialindex``, where scripts are not on the path."""

import sys

from spatialindex.cli import main

if __name__ == "__main__":
    sys.exit(main())
