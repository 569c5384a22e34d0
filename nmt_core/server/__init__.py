"""The HTTP server: requests of many users, batched together for one translator a language pair.

It speaks LibreTranslate's API. It knows no registry: what is to be served comes from a
:class:`~nmt_core.server.models.ModelSource`, which the caller of the server provides.
"""
