"""Migrations of the studio database."""
