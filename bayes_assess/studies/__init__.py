"""Simulated campaigns with their study, and the futures of sessions that plans play."""
