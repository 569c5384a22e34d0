"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a password shown up to its first @",
        "nmt_core/fetch/address.py",
        "(?<=://)[^\\s/?#]*@",
        "(?<=://)[^\\s/?#@]*@",
    ),
    (
        "a password sent on to another host",
        "nmt_core/fetch/access.py",
        "return httpx.NetRCAuth(named)",
        'return httpx.BasicAuth("anna", "canary")',
    ),
    (
        "a file without end, because it told no length",
        "nmt_core/fetch/http.py",
        "if size > self._config.max_bytes:",
        "if total and size > self._config.max_bytes:",
    ),
    (
        "an archive as large as it likes, in small members",
        "nmt_core/fetch/archive.py",
        "total > max_bytes",
        "member.size > max_bytes",
    ),
]
