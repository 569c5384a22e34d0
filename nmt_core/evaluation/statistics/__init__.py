"""Tests that tell a difference between systems from chance, and the gate built on them."""
