"""The HTTP server with LibreTranslate's API: one translator per language pair, shared batches.

The server does not depend on the model registry; its caller provides the models.
"""
