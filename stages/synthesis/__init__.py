"""Synthetic pairs from a teacher model, for distillation into a student or back-translation."""
