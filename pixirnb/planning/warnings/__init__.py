"""Warnings: doubts about a plan that still runs."""
