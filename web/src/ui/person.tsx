import type { ReactNode } from 'react'

/** A user in a row of a small table: the name, and the address below it, so that a phone shows what comes after. */
export const Person = ({ name, email, children }: { name: string; email: string; children?: ReactNode }) => (
  <div className="max-w-36 sm:max-w-md">
    <p className="flex items-center gap-2">
      <span className="truncate" title={name}>
        {name}
      </span>
      {children}
    </p>
    <p className="truncate text-xs text-muted" title={email}>
      {email}
    </p>
  </div>
)
