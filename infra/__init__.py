"""Everything Tidepool runs: the model, the Pulumi program, the engines, the fleet and the command line."""
