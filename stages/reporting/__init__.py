"""What a finished pipeline says of itself: summary, model card, bill of materials."""
