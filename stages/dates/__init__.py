"""A corpus of dates, in English and in ISO 8601."""
