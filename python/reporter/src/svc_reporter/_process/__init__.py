"""The life of the training's process: its ends, signals, stops and ranks, and the watchdog that outlives it."""
