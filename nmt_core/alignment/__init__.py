"""Which word translates which, learnt from parallel text alone."""
