"""Sessions: items are asked for and their labels told, event by event, and journals bring them back."""
