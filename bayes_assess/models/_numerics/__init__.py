"""Special functions and random draws that posteriors need."""
