"""Speed, measured beside a peer in the same run."""

from importlib import import_module

import_module("nmt_core")  # before torch, see there
