"""Several annotators of one session: where they differ, how well they agree, and who decides."""
