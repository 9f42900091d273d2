import type { ReactNode } from 'react'

/** A user in a small table: the name with the address below it, which saves width on phones. */
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
