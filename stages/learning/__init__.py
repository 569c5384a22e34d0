"""Fine-tuning on corrections of users: their corpus, and the test of the fine-tuned model."""
