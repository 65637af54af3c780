"""The studio as users start it, but with a worker in which one provider can be made wrong (faulty_worker.py)."""

import sys
from pathlib import Path

from compilemask_studio.launcher import main

WORKER = Path(__file__).parent / "faulty_worker.py"

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], worker_command=(sys.executable, str(WORKER))))
