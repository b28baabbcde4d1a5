"""``python -m gnomon``."""

from gnomon.cli.main import main

if __name__ == "__main__":
    main()
