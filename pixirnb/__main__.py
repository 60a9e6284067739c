"""Runs `python -m pixirnb`."""

from pixirnb.cli.app import main

if __name__ == "__main__":
    main()
