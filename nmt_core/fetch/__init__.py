"""Bring what lies elsewhere onto the disk, and believe none of it unchecked."""
