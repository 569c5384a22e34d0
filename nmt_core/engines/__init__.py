"""Engines that search for translations: PyTorch, and faster programs."""
