"""``python -m tamis``: the command line."""

import sys

from tamis.cli.main import main

sys.exit(main())
