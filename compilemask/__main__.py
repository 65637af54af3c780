"""`python -m compilemask` is the command line."""

import sys

from compilemask.cli import main

sys.exit(main())
