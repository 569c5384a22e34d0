"""What users give back: corrections of translations, and memories of approved ones."""
