"""Learning from users: a nightly corpus of what they corrected, and the contest over it."""
