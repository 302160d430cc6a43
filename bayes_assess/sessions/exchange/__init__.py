"""Sheets for annotators, and what comes back from them."""
