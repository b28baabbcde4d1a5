"""``python -m gnomon``.

Python puts the working folder first on the path of ``python -m``, unless it is started with ``-P``, so that a
``json.py`` there would be imported. The folder is taken off the path before anything else is imported. What Python and
the package's ``__init__`` import before this file runs (``importlib``, ``typing``) is not covered: ``gnomon`` and
``python -P -m gnomon`` are.
"""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]
    from gnomon.cli.main import main

    main()
