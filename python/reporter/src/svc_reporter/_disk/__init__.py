"""The reporter's folder on disk: spilled events, files that wait, claims, and the records of runs."""
