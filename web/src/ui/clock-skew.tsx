import { duration } from '../lib/words.ts'

/** The clock skew of a host. */
export const ClockSkew = ({ seconds }: { seconds: number }) => (
  <span
    className="text-amber"
    title="The clock of the host. Elapsed time is corrected; curves and log lines show the host's own times."
  >
    {duration(Math.round(Math.abs(seconds)))} {seconds > 0 ? 'behind' : 'ahead'}
  </span>
)
