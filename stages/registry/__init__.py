"""The registered models: exported, promoted to champion, rolled back, served."""
