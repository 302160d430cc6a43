"""What labels are evidence of: a belief on groups, draws of a belief on measures, or weighted draws of items."""
