"""Settings that torch keeps for the whole process."""

from contextlib import contextmanager

import torch


@contextmanager
def torchs_own_settings():
    """Restore what a training or an evaluation changes."""
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    rounds = torch.backends.cudnn.allow_tf32
    plans = torch.backends.cuda.cudnn_sdp_enabled()
    fills = torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)
    torch.utils.deterministic.fill_uninitialized_memory = fills
    torch.backends.cudnn.allow_tf32 = rounds
    torch.backends.cuda.enable_cudnn_sdp(plans)
