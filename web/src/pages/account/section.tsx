import type { ReactNode } from 'react'

export const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="flex flex-col gap-3 border-t border-line pt-4">
    <h2 className="font-medium">{title}</h2>
    {children}
  </section>
)

/** A confirmation message beside the form that caused it. */
export const Done = ({ children }: { children: ReactNode }) => (
  <p role="status" className="text-completed">
    {children}
  </p>
)
