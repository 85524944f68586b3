"""A small service for customer files."""
