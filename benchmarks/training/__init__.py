"""How fast training is, beside other toolkits."""
