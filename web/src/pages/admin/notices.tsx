import { useQuery } from '@tanstack/react-query'
import { fetchNotices } from '../../lib/api/factors.ts'

/** Warnings for administrators; nothing if all is well. */
export function Notices() {
  const notices = useQuery({ queryKey: ['notices'], queryFn: fetchNotices }).data ?? []
  return notices.map(({ code, detail }) => (
    <p key={code} role="note" className="rounded border border-line bg-surface px-3 py-2">
      {detail}
    </p>
  ))
}
