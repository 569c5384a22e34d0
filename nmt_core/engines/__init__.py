"""What searches for translations: our own searches in PyTorch, and faster programs."""
