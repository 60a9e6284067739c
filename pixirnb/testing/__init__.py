"""Shipped fakes and the contract suites stores and runners prove themselves by."""
