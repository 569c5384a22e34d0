"""Greedy search, beam search and sampling, and the engines that run them."""
