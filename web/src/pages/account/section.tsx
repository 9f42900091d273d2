import type { ReactNode } from 'react'

export const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="flex flex-col gap-3 border-t border-line pt-4">
    <h2 className="font-medium">{title}</h2>
    {children}
  </section>
)

/** That something was done, said where it was asked for. */
export const Done = ({ children }: { children: ReactNode }) => (
  <p role="status" className="text-completed">
    {children}
  </p>
)
