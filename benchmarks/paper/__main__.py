"""`python benchmarks/paper`, or `python -m paper` beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from paper.reproduce import main

sys.exit(main())
