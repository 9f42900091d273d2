import fc from 'fast-check'

/**
 * How long randomized tests run, and with which seed. The only environment the tests read:
 * SVC_TEST_RUNS (cases a property is tried on), SVC_TEST_KILLS (rounds of the kill test), SVC_TEST_CUTS (cuts of
 * streams in the replica test), SVC_TEST_HEAP=full (all of the work in the test of the heap), SVC_TEST_SEED, and SVC_TEST_BUILT=1 (runs the command line that `npm run build` made, which
 * starts in a fraction of the time that the sources take; `npm test` builds it and says so).
 */
const wholeNumber = (name: string): number | undefined => {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  if (!/^\d+$/.test(text)) throw new Error(`${name} must be a whole number`)
  return Number(text)
}

const RUNS = wholeNumber('SVC_TEST_RUNS')
const KILLS = wholeNumber('SVC_TEST_KILLS')
const CUTS = wholeNumber('SVC_TEST_CUTS')
const SEED = wholeNumber('SVC_TEST_SEED')

/** Whether the test of the heap does all of its work instead of the least that shows a leak. */
export const wholeHeapTest = process.env.SVC_TEST_HEAP === 'full'

/** Whether tests that start processes use the built service. */
export const built = process.env.SVC_TEST_BUILT === '1'

/** Rounds of the kill test: those asked for, else `normal`. */
export const killRounds = (normal: number): number => KILLS ?? normal

/** Cuts of streams: those asked for, else `normal`. */
export const streamCuts = (normal: number): number => CUTS ?? normal

/** A random seed, printed on the console so that a failure can be reproduced. */
export function tellSeed(what: string): number {
  const seed = SEED ?? Math.floor(Math.random() * 2 ** 31)
  console.info(`${what}: SVC_TEST_SEED=${seed}`)
  return seed
}

/**
 * For fast-check: so many runs, within so many seconds; a run with a requested number has no time limit. Time
 * running out is no failure, so a slow machine merely tries fewer cases.
 */
export function propertyBounds(what: string, normal: { runs: number; seconds: number }) {
  const seed = tellSeed(what)
  if (RUNS !== undefined) return { seed, numRuns: RUNS }
  return {
    seed,
    numRuns: normal.runs,
    interruptAfterTimeLimit: normal.seconds * 1000,
    markInterruptAsFailure: false,
  }
}

/**
 * `fc.assert` that waits for the case that the time limit cut off: fast-check leaves it running, beside the tests that
 * follow, and forgets its outcome.
 */
export async function assertProperty<Ts>(
  property: fc.IAsyncProperty<Ts>,
  bounds: ReturnType<typeof propertyBounds>,
): Promise<void> {
  const run = property.run.bind(property)
  let last: ReturnType<typeof run> = Promise.resolve(null)
  property.run = (value) => {
    last = run(value)
    return last
  }
  try {
    await fc.assert(property, bounds)
  } finally {
    await last
  }
  const failure = await last
  if (failure !== null && !fc.PreconditionFailure.isFailure(failure)) throw failure.error
}

/** Timeout of such a test in milliseconds: bounded, unless more runs were requested. */
export const patienceMs = (normalSeconds: number): number =>
  RUNS === undefined && KILLS === undefined && CUTS === undefined ? normalSeconds * 1000 : 24 * 3600 * 1000
