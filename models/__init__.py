"""Clients of language models: call, record, replay, price."""
