"""The HTTP server: requests of many users, batched together for one translator a language pair.

It speaks LibreTranslate's API. It knows no registry: what is to be served comes from a
``ModelSource``, which the caller of the server provides.
"""
