"""All that can be wrong: a code, a sentence, a remedy and a place, from one table."""
