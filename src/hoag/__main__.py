"""`python -m hoag` is `hoag`."""

import sys

from hoag.cli import main

sys.exit(main())
