"""``python -m nmt_core.cli`` is ``nmt``."""

from nmt_core.cli import app

if __name__ == "__main__":
    app()
