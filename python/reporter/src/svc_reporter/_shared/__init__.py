"""What every other folder uses: conversions, errors, messages, ids, signals, and the facts of a process."""
