"""Operations on images: declarations, builds, registries, records, promotion."""
