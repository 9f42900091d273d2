import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type Previewed, previewRule } from '../../lib/api/rules.ts'

const PAUSE_MS = 400

/** How often a rule would have sent mail, recounted once typing pauses. Null if the rule is incomplete. */
export function usePreview(slug: string, rule: Previewed | null) {
  const wanted = rule === null ? '' : JSON.stringify(rule)
  const [late, setLate] = useState(wanted)
  useEffect(() => {
    const timer = setTimeout(() => setLate(wanted), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  const counted = useQuery({
    queryKey: ['rule preview', slug, late],
    queryFn: ({ signal }) => previewRule(slug, JSON.parse(late), signal),
    enabled: late !== '' && late === wanted,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 30_000,
  })
  return { ...counted, whole: rule !== null, old: late !== wanted || counted.isFetching }
}
