"""Cloud KMS: key rings, keys, encryption."""
