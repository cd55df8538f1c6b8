"""`python -m lanai_sim` is the command `lanai`, of this Python."""

import sys

from .cli import main

sys.exit(main())
