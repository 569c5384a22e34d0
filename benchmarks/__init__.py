"""Speed, measured beside a peer in the same run."""

import nmt_core  # noqa: F401 - before torch, see there
