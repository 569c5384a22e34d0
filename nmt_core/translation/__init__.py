"""Translation of text with an exported model; importing this package does not import torch."""
