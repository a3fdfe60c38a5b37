"""Results of test runs: what a run left behind, kept run by run, and what is told of it beside those before it."""
