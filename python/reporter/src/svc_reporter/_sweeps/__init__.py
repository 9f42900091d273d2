"""Sweeps: their definition, what to try next, and the calls of a worker."""
