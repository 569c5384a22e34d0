"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "turns that never pass to other users",
        "nmt_core/server/scheduler.py",
        "self._waiting.move_to_end(user)",
        "self._waiting.move_to_end(user, last=False)",
    ),
    (
        "a long text that takes whole batches",
        "nmt_core/server/scheduler.py",
        "min(room, self._config.portion_tokens)",
        "room",
    ),
    (
        "a server that pages of any name may ask",
        "nmt_core/server/guard.py",
        "or is_address(host):",
        "or host:",
    ),
    (
        "a client that trickles for ever",
        "nmt_core/server/guard.py",
        "left = self._began + self._config.read_seconds - time.monotonic()",
        "left = self._config.read_seconds",
    ),
    (
        "an API key as the name of a user",
        "nmt_core/server/limits.py",
        'User(f"key {short}"',
        'User(f"key {key}"',
    ),
]
