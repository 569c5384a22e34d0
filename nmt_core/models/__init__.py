"""Translation models: Transformer, ConvS2S and RNN with attention."""
