"""What labels are evidence of: draws of a belief, or weighted draws of items, with the words that go with each."""
