"""A generated demo corpus: a synchronous grammar of everyday German and English, and of debates."""
