"""Histories, trees and session logs made for tests."""
