"""The commands of the bench: `./tidepool cloud`, by which people drive the local Google Cloud of a laptop."""
