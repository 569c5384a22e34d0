"""The HTTP server with LibreTranslate's API: one translator per language pair, shared batches.

The server does not know the model registry; its caller says where models come from.
"""
