"""Cloud Scheduler: jobs, which call at their times."""
