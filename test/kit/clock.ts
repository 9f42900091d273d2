/** A clock that the test moves, for `startTestApp(…, { now: clock.now })`. Begins at the real time. */
export function createClock() {
  let time = Date.now()
  return {
    now: () => new Date(time),
    forward(step: { seconds?: number; minutes?: number; hours?: number; days?: number }) {
      const { seconds = 0, minutes = 0, hours = 0, days = 0 } = step
      time += (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
    },
  }
}
