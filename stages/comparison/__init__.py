"""Several trainings side by side: their results, and the report on them."""
