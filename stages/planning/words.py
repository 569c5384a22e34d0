"""Sizes as people read them."""

GIGABYTE = 1e9


def describe_bytes(count: int) -> str:
    """Return a size in megabytes, or gigabytes where it has at least one."""
    return f"{count / GIGABYTE:.1f} GB" if count >= GIGABYTE else f"{count / 1e6:,.0f} MB"


def describe_memory(count: int) -> str:
    """Return a size in gibibytes."""
    return f"{count / 2**30:.2f}"
