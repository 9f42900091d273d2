"""What a run records beside the events of its jobs: metrics, media, console, environment and machine."""
