"""Campaigns: interactive sessions with their journal, and simulated ones with their study."""
