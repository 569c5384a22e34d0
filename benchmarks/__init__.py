"""Speed, measured beside a peer in the same run."""

import nmt_core as nmt_core  # before torch, see there
