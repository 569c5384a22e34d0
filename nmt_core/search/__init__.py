"""Searches for a translation (greedy, beam, sampling), and the engines that run them."""
