"""Operations on workflow files: what is generated here or for a checkout, written, checked and explained."""
