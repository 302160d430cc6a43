"""Estimators and intervals, apart from how items are drawn."""
