"""Text in, text out. What is imported from here at once imports no torch."""
