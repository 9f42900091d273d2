import type { ReactNode } from 'react'
import { served } from '../../lib/served.ts'

/** The layout of the sign-in and registration pages. */
export const SignInFrame = ({ title, children }: { title: string; children: ReactNode }) => (
  <div className="mx-auto flex min-h-full max-w-sm flex-col justify-center gap-4 px-4 py-12">
    <div className="flex items-center gap-2">
      <img src={served('/favicon.svg')} alt="" className="size-6" />
      <span className="text-base font-semibold">Experiment monitor</span>
    </div>
    <div className="flex flex-col gap-4 rounded-lg border border-line bg-surface p-5">
      <h1 className="text-base font-semibold">{title}</h1>
      {children}
    </div>
  </div>
)
