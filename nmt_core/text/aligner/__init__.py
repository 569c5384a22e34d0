"""Word alignment, learnt from parallel text."""
