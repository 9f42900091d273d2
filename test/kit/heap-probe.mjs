// Loaded into a server (`--import`) that runs with --expose-gc: at SIGUSR2 it prints the heap that is used after a full
// collection.
process.on('SIGUSR2', async () => {
  // What the last requests still hold is free after a turn of the event loop.
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    globalThis.gc()
  }
  process.stdout.write(`\nused heap ${process.memoryUsage().heapUsed}\n`)
})
