import { served } from '../lib/served.ts'

/** The call of a script that fills an empty list, and the section of the documentation about it. */
export const HowTo = ({ call, section }: { call: string; section: string }) => (
  <>
    <code className="font-mono text-xs text-ink">{call}</code>
    <a href={served(`/docs/${section}`)} target="_blank" rel="noreferrer" className="text-accent underline">
      Read how
    </a>
  </>
)
