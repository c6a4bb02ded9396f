"""``python -m ubayfs`` is the command ``ubayfs``."""

from .cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
