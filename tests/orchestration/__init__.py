"""Tests on real servers, which end after the last of these tests."""
