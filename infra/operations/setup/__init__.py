"""What is set up once: this machine, and a project of Google Cloud before its first deploy."""
