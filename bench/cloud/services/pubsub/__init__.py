"""Pub/Sub: topics and subscriptions."""
