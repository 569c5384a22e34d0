"""The library: text, data, models, search, training, evaluation. It knows no orchestrator."""
