import type { LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** A button, or a link that looks like one. */
export type Action = {
  label: ReactNode
  /** Tells it from the others. */
  key: string
  title?: string
} & (
  | { link: LinkProps }
  | { onSelect: () => void; disabled?: boolean; look?: 'danger'; opensDialog?: boolean }
)
