"""Word vectors: learnt by fastText or read from a file, as a matrix for a vocabulary."""
