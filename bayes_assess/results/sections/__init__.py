"""What questions add to answers of one shape: columns, sentences, and what their own labels are."""
