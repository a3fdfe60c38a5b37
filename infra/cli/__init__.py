"""The commands of `./tidepool`: parse, call, print."""
