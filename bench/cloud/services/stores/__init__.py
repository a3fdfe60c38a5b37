"""Firestore and Memorystore, as far as Pulumi declares them."""
