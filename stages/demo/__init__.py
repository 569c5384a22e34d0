"""A demo corpus out of nothing: a synchronous grammar of German and English debates."""
