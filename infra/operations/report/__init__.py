"""The site of the estate: what other operations tell of all stacks, as one page that loads nothing."""
