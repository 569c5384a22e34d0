"""Language models: n-gram counts, feed-forward, recurrent and Transformer networks."""
