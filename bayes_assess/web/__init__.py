"""The labelling page: one item after the other in a browser, for one person or several."""
