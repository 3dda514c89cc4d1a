"""Runs the command: ``python -m stubgen``."""

from stubgen.cli.app import main

if __name__ == "__main__":
    main()
